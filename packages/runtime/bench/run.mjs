// npm run bench: bundles the bench from source, so that any Node can run it, and runs it. Arguments are handed on.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
// below node_modules, so that what is left external is found
const out = `${here}/../../../node_modules/.cache/handover-bench-${process.pid}`;
mkdirSync(out, { recursive: true });
try {
  await build({
    entryPoints: [`${here}/main.ts`, `${here}/api-server.ts`, `${here}/import-cost.ts`],
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['source'],
    external: ['undici', 'client-node-1', 'client-node-2', '@grpc/grpc-js'],
    logLevel: 'warning',
  });
  // the published shape: material inlined, nothing else in it
  await build({
    entryPoints: [`${here}/../src/index.ts`],
    outfile: `${out}/published.mjs`,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['source'],
    external: ['undici'],
    logLevel: 'warning',
  });
  const { status } = spawnSync(
    process.execPath,
    ['--expose-gc', '--no-warnings', `${out}/main.mjs`, ...process.argv.slice(2)],
    { stdio: 'inherit', env: { ...process.env, HANDOVER_HOOK: `${here}/../test/undici-7-hook.mjs` } },
  );
  process.exitCode = status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
