import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createSecureContext, createServer, type Server, type TlsOptions } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { codeOf } from '../../test/directories.ts';
import { documentOf, MESH_ID, MeshHomes, meshYaml, pairOf, pass, secret } from '../../test/mesh-home.ts';
import { type DirectoryHome, passOnce } from '../index.ts';

const homes = new MeshHomes();
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A server that takes its chain and key anew for each connection. */
const serving = async (pair: () => { cert: string; key: string }): Promise<string> => {
  const SNICallback: TlsOptions['SNICallback'] = (_, done) => done(null, createSecureContext(pair()));
  const server = createServer({ SNICallback }, (socket) => socket.on('error', () => {}));
  server.on('tlsClientError', () => {});
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return `localhost:${(server.address() as AddressInfo).port}`;
};

/** Asks for a rotation, and looks again and again for longer than any time that could stand in for evidence. */
const rotated = async (home: DirectoryHome, refresh: () => void = () => {}) => {
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  let outcome = await pass(home);
  for (let looks = 0; looks < 4; looks++) {
    homes.later(100_000);
    refresh();
    outcome = await pass(home);
  }
  return {
    phase: outcome.plan.phase,
    waits: [...new Set(outcome.plan.blockedBy.map(({ consumer, waitsFor }) => `${consumer}: ${waitsFor}`))],
  };
};

test('a probe that meets the server of another Leaf is no evidence, and says which Leaf it met', async () => {
  let served = 'b';
  const address = await serving(() => pairOf(home, served));
  const home = homes.mesh(`{name: web, presents: true, leaf: a, probe: {address: "${address}"}}`);
  await pass(home);
  expect(await rotated(home)).toEqual({
    phase: 'Activating',
    waits: [
      'web: to load a leaf of CA generation 2 (shows the certificate of Leaf default/b, expected default/a; correct the address in its status or probe, or its leaf)',
    ],
  });
  served = 'a';
  await pass(home);
  expect((await rotated(home)).phase).toBe('Stable');
});

test('a probe that meets an earlier certificate of another Leaf knows it by its names', async () => {
  const address = await serving(() => earlier);
  const yaml = meshYaml(`{name: web, presents: true, leaf: a, probe: {address: "${address}"}}`);
  const home = homes.home(homes.make(yaml));
  await pass(home);
  let earlier = pairOf(home, 'b');
  expect((await rotated(home)).phase).toBe('Activating');
  // A program of b that reads its files only when it starts: generation 2 has signed its leaf, which is then renewed.
  earlier = pairOf(home, 'b');
  writeFileSync(join(home.path, 'mesh.yaml'), yaml.replace('[b.local]', '[B.local], lifetime: 30d'));
  await pass(home);
  expect(secret(home, 'b', 'tls.crt')).not.toBe(earlier.cert);
  expect(await rotated(home)).toMatchObject({
    phase: 'Activating',
    waits: [expect.stringContaining('shows the certificate of Leaf default/b, expected default/a')],
  });
});

test('a status document of the program of another Leaf is no evidence, of a program with both it is', async () => {
  const home = homes.home(homes.make(undefined));
  const path = join(home.path, 'status.json');
  writeFileSync(
    join(home.path, 'mesh.yaml'),
    meshYaml(`{name: web, presents: true, verifies: true, leaf: a, status: {file: ${path}}}`),
  );
  await pass(home);
  const { phase, waits } = await rotated(home, () => writeFileSync(path, documentOf(home, 'b')));
  expect(phase).toBe('Introducing');
  expect(waits).toEqual([
    'web: to load CA generation 2 (shows the certificate of Leaf default/b, expected default/a; correct the address in its status or probe, or its leaf)',
  ]);
  const both = (): void => {
    const [a, b] = ['a', 'b'].map((leaf) => JSON.parse(documentOf(home, leaf)));
    writeFileSync(path, JSON.stringify({ ...b, sources: [...b.sources, ...a.sources] }));
  };
  expect((await rotated(home, both)).phase).toBe('Stable');
});

test('a consumer of a Leaf that does not exist is an error of each pass, and holds up the rotation', async () => {
  const home = homes.mesh('{name: web, presents: true, leaf: aa, reload: hot}');
  expect(await codeOf(() => passOnce(home, home.load(), () => {}))).toBe(
    'CONSUMER_LEAF_UNKNOWN: Authority default/mesh: spec.consumers[0].leaf of web: default/aa is no Leaf of this Authority, so that its next rotation waits; name one of: default/a, default/b',
  );
  // The certificates are there all the same.
  expect(secret(home, 'a', 'tls.crt')).toContain('BEGIN CERTIFICATE');
  expect(await rotated(home)).toMatchObject({
    phase: 'Activating',
    waits: [expect.stringMatching(/^web: to present a leaf of this Authority: .* names default\/aa/)],
  });
});
