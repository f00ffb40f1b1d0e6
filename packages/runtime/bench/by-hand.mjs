// npx -y node@24 packages/runtime/bench/by-hand.mjs: what people write by hand to follow a certificate, beside identity.serve.
// Prints the table of docs/benchmarks/runtime.md. Needs a build and a registry, from which chokidar comes into a temporary folder.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:https';
import { createRequire } from 'node:module';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:tls';
import { openIdentity } from '../dist/index.js';
import { MockCa } from '../dist/testing/mock-ca.js';

const CHANGES = 20;
const GIVE_UP_MS = 1_000;
const CHOKIDAR = 'chokidar@6.0.0';

const root = mkdtempSync(join(tmpdir(), 'handover-by-hand-'));
process.on('exit', () => rmSync(root, { recursive: true }));
writeFileSync(join(root, 'package.json'), '{"private":true}\n');
execFileSync('npm', ['install', '--no-audit', '--no-fund', CHOKIDAR], {
  cwd: root,
  stdio: ['ignore', 'ignore', 'inherit'],
});
const chokidar = await import(createRequire(join(root, 'package.json')).resolve('chokidar'));

const ca = new MockCa('by hand');
const leaves = Array.from({ length: CHANGES + 1 }, () => ca.leaf());

const inPlace = async (path, text) => {
  const half = text.length >> 1;
  writeFileSync(path, text.slice(0, half));
  await pause(5);
  writeFileSync(path, text.slice(half), { flag: 'a' });
};
const byRename = async (path, text) => {
  writeFileSync(`${path}.tmp`, text);
  renameSync(`${path}.tmp`, path);
};
/** Certificate and key, one after the other. */
const oneByOne =
  (put, gapMs) =>
  async (folder, { cert, key }) => {
    await put(join(folder, 'tls.crt'), cert);
    await pause(gapMs);
    await put(join(folder, 'tls.key'), key);
  };
/** As the kubelet writes a volume: both at once, by the rename of a link; then the old folder goes. */
const byData = async (folder, { cert, key }) => {
  const fresh = mkdtempSync(join(folder, '..version-'));
  writeFileSync(join(fresh, 'tls.crt'), cert);
  writeFileSync(join(fresh, 'tls.key'), key);
  const data = join(folder, '..data');
  const old = existsSync(data) ? readlinkSync(data) : undefined;
  symlinkSync(fresh, `${data}_tmp`);
  renameSync(`${data}_tmp`, data);
  if (old !== undefined) rmSync(old, { recursive: true });
};

const WAYS = {
  'in place': oneByOne(inPlace, 20),
  rename: oneByOne(byRename, 20),
  'rename, 300 ms apart': oneByOne(byRename, 300),
  '`..data`': byData,
};

const material = (folder) => ({
  cert: readFileSync(join(folder, 'tls.crt')),
  key: readFileSync(join(folder, 'tls.key')),
});
const paths = (folder) => [join(folder, 'tls.crt'), join(folder, 'tls.key')];
/** A server of node:https, and what is called when its files may have changed. */
const plain = (folder) => {
  const server = createServer(material(folder));
  return { server, reload: () => server.setSecureContext(material(folder)) };
};

/** Each makes a server of the folder's files and returns it with what ends the following. */
const FOLLOWERS = {
  '`fs.watch` of both files, `setSecureContext`': async (folder) => {
    const { server, reload } = plain(folder);
    const watchers = paths(folder).map((path) => watch(path, reload));
    return { server, end: () => watchers.map((watcher) => watcher.close()) };
  },
  '`fs.watch` of the folder, `setSecureContext` 100 ms on': async (folder) => {
    const { server, reload } = plain(folder);
    let later;
    const watcher = watch(folder, () => {
      clearTimeout(later);
      later = setTimeout(reload, 100);
    });
    return { server, end: () => watcher.close() };
  },
  [`\`${CHOKIDAR}\` of both files, \`setSecureContext\``]: async (folder) => {
    const { server, reload } = plain(folder);
    const watcher = chokidar.watch(paths(folder)).on('change', reload);
    await new Promise((ready) => watcher.once('ready', ready));
    return { server, end: () => watcher.close() };
  },
  '`identity.serve`': async (folder) => {
    const stop = new AbortController();
    const [cert, key] = paths(folder);
    const identity = await openIdentity({ cert, key }, { signal: stop.signal });
    return { server: identity.serve(createServer()), end: () => stop.abort() };
  },
};

/** The certificate that the server shows. */
const shown = (port) =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: 'localhost', ca: ca.pem }, () => {
      resolve(socket.getPeerX509Certificate().toString());
      socket.destroy();
    }).on('error', reject);
  });

let uncaught = 0;
process.on('uncaughtException', () => uncaught++); // ends a program that has no such handler

const measure = async (change, follow) => {
  const folder = mkdtempSync(join(root, 'files-'));
  if (change === byData) {
    for (const path of paths(folder)) symlinkSync(join('..data', path.slice(folder.length + 1)), path);
  }
  await change(folder, leaves[0]);
  const { server, end } = await follow(folder);
  await new Promise((listening) => server.listen(0, 'localhost', listening));
  const { port } = server.address();
  const took = [];
  let [handshakes, failed] = [0, 0];
  uncaught = 0;
  for (const leaf of leaves.slice(1)) {
    await change(folder, leaf);
    const from = performance.now();
    for (let seen = false; !seen && performance.now() - from < GIVE_UP_MS; await pause(5)) {
      handshakes++;
      const cert = await shown(port).catch(() => failed++);
      seen = cert === leaf.cert;
      if (seen) took.push(performance.now() - from);
    }
  }
  await end();
  server.close();
  const p50 = took.sort((a, b) => a - b)[took.length >> 1];
  const after = p50 === undefined ? '' : `${Math.round(p50)} ms`;
  return [`${took.length} of ${CHANGES}`, after, uncaught, `${failed} of ${handshakes}`];
};

const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);
const main = async () => {
  console.log(`Node ${process.version}, load ${loadavg()[0].toFixed(0)} at the start\n`);
  row(
    'files change',
    'followed by',
    'changes seen',
    'new leaf after, p50',
    'uncaught errors',
    'failed handshakes',
  );
  row(...Array(6).fill('---'));
  for (const [way, change] of Object.entries(WAYS)) {
    for (const [name, follow] of Object.entries(FOLLOWERS))
      row(way, name, ...(await measure(change, follow)));
  }
  console.log(`\nload ${loadavg()[0].toFixed(0)} at the end`);
};
await main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
process.exit(); // a watcher that has lost its file may not end
