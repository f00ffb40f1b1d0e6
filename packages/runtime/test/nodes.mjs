// npm run test:nodes: this package's tests under the Nodes that the npm package `node` carries. Arguments: versions.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const versions = process.argv.length > 2 ? process.argv.slice(2) : ['22', '24'];
for (const version of versions) {
  const command = [
    '-y',
    '-p',
    `node@${version}`,
    '--',
    'node',
    'node_modules/vitest/vitest.mjs',
    'run',
    '--project',
    'unit-alone',
    '--project',
    'system',
    'packages/runtime',
  ];
  process.stdout.write(`node ${version}\n`);
  const { status } = spawnSync('npx', command, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, HANDOVER_NODE: version },
  });
  if (status !== 0) process.exitCode = 1;
}
