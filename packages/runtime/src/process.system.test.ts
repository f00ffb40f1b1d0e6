import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { mustTakeAtMost } from '@handover/test-api-server';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundleRuntime, run } from '../test/bundle.ts';
import { files, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';

const ca = new MockCa('one');
const scope = new Scope();
const volume = scope.volume({ ...files(ca.leaf(), ca), token: 'token' });
const PROFILE = '{"ciphers":["TLS_AES_128_GCM_SHA256"],"minTLSVersion":"VersionTLS13"}';
let dir: string;
let blackHole: Server;
let calls = 0;
let blackHolePort = 0;

beforeAll(async () => {
  ({ dir } = await bundleRuntime());
  const held: Socket[] = [];
  // An API server that accepts and never answers.
  blackHole = createServer((socket) => {
    calls++;
    held.push(socket);
  }).listen(0, '127.0.0.1');
  await new Promise((listening) => blackHole.once('listening', listening));
  blackHolePort = (blackHole.address() as { port: number }).port;
  scope.after(() => {
    for (const socket of held) socket.destroy();
    blackHole.close();
  });
});

const header = `import * as runtime from './runtime.mjs';
const volume = ${JSON.stringify(volume.dir)};
const identityFiles = { cert: volume + '/tls.crt', key: volume + '/tls.key', ca: volume + '/ca.crt' };
process.on('unhandledRejection', (error) => { console.log('UNHANDLED', error); process.exit(9); });
`;

/** A role of S1: serves TLS with the profile from its file, or serves none and needs no file. */
const role = `${header}
import { isOpenShift } from './openshift.mjs';
import { createServer } from 'node:https';
import { connect } from 'node:tls';
import { readFileSync } from 'node:fs';
const [, , kind, profilePath, lastKnownGood] = process.argv;
const openShift = isOpenShift();
try {
  const server = createServer((request, response) => response.end('ok'));
  let profile;
  if (kind === 'serves') {
    profile = await runtime.openTlsProfile(profilePath, lastKnownGood ? { lastKnownGood } : {});
  }
  const identity = await runtime.openIdentity(identityFiles);
  identity.serve(server, profile === undefined ? {} : { profile });
  server.listen(0, '127.0.0.1', () => {
    console.log('LISTENING openshift=' + openShift);
    const socket = connect({ port: server.address().port, host: '127.0.0.1', ca: readFileSync(volume + '/ca.crt') }, () => {
      console.log('SERVED ' + socket.getProtocol());
      socket.destroy();
      server.close();
    });
  });
} catch (error) {
  console.error(error.code + ': ' + error.message);
  process.exitCode = 1;
}
`;

const api = () => ({ KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(blackHolePort) });

describe('Startup without an API server', () => {
  test('S1.1 an API server that accepts and never answers, twelve restarts, twelve successes, no call', async () => {
    const profile = scope.volume({ 'profile.json': PROFILE });
    for (let restart = 0; restart < 12; restart++) {
      const began = performance.now();
      const ended = await run(dir, role, { args: ['serves', profile.path('profile.json')], env: api() });
      expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('SERVED TLSv1.3') });
      mustTakeAtMost('S1.1', performance.now() - began);
    }
    expect(calls).toBe(0);
  });

  test('S1.2 a role that serves no platform TLS starts without the file; one that does exits 1 and names the path', async () => {
    const idle = await run(dir, role, { args: ['idle', '/nowhere/profile.json'], env: api() });
    expect(idle).toMatchObject({ code: 0, stdout: expect.stringContaining('SERVED') });
    const serves = await run(dir, role, { args: ['serves', '/nowhere/profile.json'], env: api() });
    expect(serves.code).toBe(1);
    expect(serves.stderr).toContain('FILE_MISSING: /nowhere/profile.json');
    expect(serves.stdout).not.toContain('LISTENING');
  });

  test('S1.2 a malformed file exits 1 with no listener opened; with a last known good copy it starts and says so', async () => {
    const profile = scope.volume({ 'profile.json': PROFILE });
    const copy = profile.path('copy.json');
    const args = ['serves', profile.path('profile.json'), copy];
    expect(await run(dir, role, { args })).toMatchObject({ code: 0 });
    profile.write({ 'profile.json': '{ nonsense' });
    const without = await run(dir, role, { args: args.slice(0, 2) });
    expect(without.code).toBe(1);
    expect(without.stderr).toContain(profile.path('profile.json'));
    expect(without.stdout).not.toContain('LISTENING');
    const withCopy = await run(dir, role, { args });
    expect(withCopy).toMatchObject({ code: 0, stdout: expect.stringContaining('SERVED TLSv1.3') });
    expect(withCopy.stderr).toContain(`started with its copy ${copy}`);
    rmSync(profile.path('profile.json'));
    const absent = await run(dir, role, { args });
    expect(absent).toMatchObject({ code: 0, stdout: expect.stringContaining('SERVED TLSv1.3') });
    expect(absent.stderr).toContain(`(FILE_MISSING); started with its copy ${copy}`);
  });

  test.each([
    ['true', true],
    ['True', false],
    ['TRUE', false],
    ['1', false],
    ['true ', false],
    ['', false],
    [undefined, false],
  ])('S1.3 IS_OPENSHIFT=%s means %s', async (value, openShift) => {
    const env = value === undefined ? {} : { IS_OPENSHIFT: value };
    const { stdout } = await run(dir, role, { args: ['idle'], env });
    expect(stdout).toContain(`openshift=${openShift}`);
  });
});

describe('A process', () => {
  const { HANDOVER_NODE } = process.env; // set by test:nodes
  if (HANDOVER_NODE !== undefined)
    test('a process runs on the Node that was asked for', () => {
      expect(process.versions.node.split('.')[0]).toBe(HANDOVER_NODE.split('.')[0]);
    });

  test('a process ends by itself with everything open: the runtime does not hold it', async () => {
    const ended = await run(
      dir,
      `${header}
      const trust = await runtime.openTrust(volume + '/ca.crt');
      const identity = await runtime.openIdentity(identityFiles);
      const token = await runtime.openToken(volume + '/token');
      trust.httpsAgent();
      await runtime.serveStatus({ port: 0, host: '127.0.0.1', sources: [trust, identity, token] });
      await runtime.serveStatus({ file: ${JSON.stringify('STATUS')}, sources: [trust] }).catch(() => {});
      console.log('open');`.replace('STATUS', volume.path('status.json')),
    );
    expect(ended).toMatchObject({ code: 0, signal: null, stdout: 'open\n' });
  });

  test('a process is not ended by a status port that is taken', async () => {
    const ended = await run(
      dir,
      `${header}
      import { createServer } from 'node:net';
      const taken = createServer().listen(0, '127.0.0.1');
      await new Promise((listening) => taken.once('listening', listening));
      const trust = await runtime.openTrust(volume + '/ca.crt');
      runtime.serveStatus({ port: taken.address().port, host: '127.0.0.1', sources: [trust] });
      setTimeout(() => { taken.close(); console.log('alive'); }, 100);`,
    );
    expect(ended).toMatchObject({ code: 0, stdout: 'alive\n' });
    expect(ended.stderr).toContain('is it free?');
  });

  test('a process lives on when a listener throws or rejects, and warns of it', async () => {
    const own = scope.volume({ 'ca.crt': ca.pem });
    const ended = await run(
      dir,
      `${header}
      import { writeFileSync } from 'node:fs';
      const path = ${JSON.stringify(own.path('plain.crt'))};
      writeFileSync(path, ${JSON.stringify(ca.pem)});
      const trust = await runtime.openTrust(path);
      trust.on('reloaded', () => { throw new Error('mine'); });
      trust.on('reloaded', async () => { throw new Error('later'); });
      writeFileSync(path, ${JSON.stringify(new MockCa('two').pem)});
      await trust.reload();
      console.log(trust.status().loads);`,
    );
    expect(ended).toMatchObject({ code: 0, stdout: '2\n' });
    for (const words of ['mine', 'later']) expect(ended.stderr).toContain(words);
  });

  test('a process can require() the package', async () => {
    const ended = await run(
      dir,
      `const { openTrust } = require('./runtime.mjs');
       openTrust(${JSON.stringify(volume.path('ca.crt'))}).then((trust) => console.log(trust.hash.length));`,
      { ext: 'cjs' },
    );
    expect(ended).toMatchObject({ code: 0, stdout: '64\n' });
  });

  test('a process without undici can use everything but the dispatcher, which says what is missing', async () => {
    const ended = await run(
      dir,
      `${header}
      const trust = await runtime.openTrust(volume + '/ca.crt');
      trust.httpsAgent();
      try { trust.dispatcher(); } catch (error) { console.log(error.code, error.message); }`,
    );
    expect(ended.stdout).toMatch(/^PEER_MISSING .*npm install undici/);
  });
});
