// npm run bench: bundles the bench from source and runs it against a real kube-apiserver. Arguments are passed on.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
// below node_modules, so that external packages are found
const out = `${here}/../../../node_modules/.cache/handover-kube-bench-${process.pid}`;
mkdirSync(out, { recursive: true });
try {
  await build({
    entryPoints: [`${here}/main.ts`, `${here}/memory.ts`],
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['source'],
    external: ['undici', 'yaml', '@kubernetes/client-node', '@handover/test-cluster'],
    logLevel: 'warning',
  });
  const { status } = spawnSync(
    process.execPath,
    ['--no-warnings', `${out}/main.mjs`, ...process.argv.slice(2)],
    { stdio: 'inherit' },
  );
  process.exitCode = status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
