// mTLS processes without our library, each of which loads changed files after a delay; 50 handshakes/s in every direction
// during `handover rotate`, once per strategy. Run after a build:
//   node packages/cli/test/show/three-processes.mjs [--delays 0,5,15] [--reloadWithin 20s] [Phased] [Instant]
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const BIN = here('../../bin/handover.js');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    delays: { type: 'string', default: '0,5,15' },
    reloadWithin: { type: 'string', default: '20s' },
  },
});
const DELAYS = Object.fromEntries(
  values.delays.split(',').map((seconds, index) => [String.fromCharCode(97 + index), Number(seconds)]),
);
const SLOWEST = Math.max(...Object.values(DELAYS));
const PER_SECOND = 50;

const yaml = (strategy) =>
  [
    `apiVersion: handover.dev/v1alpha1\nkind: Authority\nmetadata: {name: mesh}\nspec: {rotation: {reloadWithin: ${values.reloadWithin}, strategy: ${strategy}}}\n`,
    ...Object.keys(DELAYS).map(
      (name) =>
        `apiVersion: handover.dev/v1alpha1\nkind: Leaf\nmetadata: {name: ${name}}\nspec: {authority: mesh, dnsNames: [${name}.local]}\n`,
    ),
  ].join('---\n');

const handover = async (...args) => {
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = await once(child, 'close');
  return code;
};

const show = async (strategy) => {
  const dir = mkdtempSync(join(tmpdir(), 'handover-show-'));
  const peers = [];
  let beat;
  try {
    writeFileSync(join(dir, 'mesh.yaml'), yaml(strategy), { mode: 0o644 });
    await handover('run', dir, '--once');
    for (const [name, delay] of Object.entries(DELAYS)) {
      const child = fork(here('peer.mjs'), [join(dir, 'out/default/secrets', name), String(delay), name]);
      const [{ port }] = await once(child, 'message');
      peers.push({ name, child, port });
    }
    let handshakes = 0;
    const failed = new Map();
    for (const { child } of peers) {
      child.on('message', ({ from, to, problem }) => {
        handshakes++;
        if (problem === undefined) return;
        const key = `${from} → ${to}: ${problem}`;
        failed.set(key, (failed.get(key) ?? 0) + 1);
      });
    }
    const pairs = peers.flatMap((from) => peers.filter((to) => to !== from).map((to) => [from, to]));
    let turn = 0;
    beat = setInterval(() => {
      const [from, to] = pairs[turn++ % pairs.length];
      from.child.send({ port: to.port, to: `${to.name}.local` });
    }, 1000 / PER_SECOND);
    const began = performance.now();
    const code = await handover('rotate', 'default/mesh', '--wait', '--home', `dir:${dir}`);
    const seconds = Math.round((performance.now() - began) / 100) / 10;
    // The slowest process has yet to load the last change.
    await new Promise((resolve) => setTimeout(resolve, SLOWEST * 1000 + 2_000));
    clearInterval(beat);
    const bundles = Object.keys(DELAYS).map((name) =>
      readFileSync(join(dir, 'out/default/secrets', name, 'ca.crt'), 'utf8'),
    );
    const certificates = Math.max(...bundles.map((text) => text.split('BEGIN CERTIFICATE').length - 1));
    const failures = [...failed.values()].reduce((sum, count) => sum + count, 0);
    return {
      strategy,
      delays: Object.values(DELAYS),
      reloadWithin: values.reloadWithin,
      code,
      seconds,
      handshakes,
      failures,
      failed: Object.fromEntries(failed),
      certificates,
    };
  } finally {
    clearInterval(beat);
    for (const { child } of peers) child.disconnect();
    rmSync(dir, { recursive: true, force: true });
  }
};

let bad = 0;
for (const strategy of positionals.length > 0 ? positionals : ['Phased', 'Instant']) {
  const result = await show(strategy);
  process.stdout.write(`${JSON.stringify(result)}\n`);
  if (result.failures > 0 || result.code !== 0 || result.certificates !== 1) bad = 1;
}
process.exitCode = bad;
