// npm run bench:inject: bundles the benchmark, so that any Node can run it, and runs it. Passes arguments on.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = `${dirname(fileURLToPath(import.meta.url))}/../../../..`;
// below node_modules, so that what is left external is found
const out = `${root}/node_modules/.cache/handover-bench-inject-${process.pid}`;
mkdirSync(out, { recursive: true });
try {
  await build({
    entryPoints: [`${root}/packages/operator/bench/inject/main.ts`],
    outfile: `${out}/main.mjs`,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // Measures the build in dist/, as a user runs it. The harness finds its programs beside itself.
    packages: 'external',
    logLevel: 'warning',
  });
  const { status } = spawnSync(
    process.execPath,
    [
      '--no-warnings',
      `${out}/main.mjs`,
      '--cli',
      `${root}/packages/cli/bin/handover.js`,
      ...process.argv.slice(2),
    ],
    { stdio: 'inherit' },
  );
  process.exitCode = status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
