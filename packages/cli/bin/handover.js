#!/usr/bin/env node
// CommonJS (package.json beside it says so), and the version without loading anything: what a module costs to start is felt by
// whoever asks from a prompt or a script. No compile cache: it would lie where others may write, and be run with the CA's keys.
const [, , first, ...rest] = process.argv;
if (rest.length === 0 && (first === '--version' || first === '-V')) {
  process.stdout.on('error', ({ code }) => process.exit(code === 'EPIPE' ? 0 : 1));
  process.stdout.write(`${require('../package.json').version}\n`);
} else {
  import('../dist/main.js').then(({ main }) => main());
}
