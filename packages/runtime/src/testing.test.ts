import { createServer } from 'node:https';
import { afterEach, expect, test } from 'vitest';
import { Scope } from '../test/fixture.ts';
import { listen } from '../test/world.ts';
import { openTestMesh } from './testing.ts';

const scope = new Scope();
afterEach(() => scope.end());

test('a rotation of a mesh changes CA and leaf, and both sides follow', async () => {
  const mesh = scope.add(await openTestMesh());
  const server = createServer({ requestCert: true }, (_, response) => response.end('hello'));
  const { url } = scope.add(await listen(mesh.identity.serve(server)));
  const before = [mesh.trust.hash, mesh.identity.hash];
  expect(await (await mesh.identity.fetch(url)).text()).toBe('hello');
  await mesh.rotate();
  expect(mesh.trust.hash).not.toBe(before[0]);
  expect(mesh.identity.hash).not.toBe(before[1]);
  expect(mesh.trust.status()).toMatchObject({ loads: 3, anchors: [expect.any(String)] });
  expect(await (await mesh.identity.fetch(url)).text()).toBe('hello');
});

test('a bad write to a mesh keeps the last good material and says so, until the next rotation', async () => {
  const mesh = scope.add(await openTestMesh());
  const { hash } = mesh.trust;
  const kept: string[] = [];
  mesh.trust.on('kept', ({ reason }) => kept.push(reason));
  mesh.identity.on('kept', ({ reason }) => kept.push(reason));
  await mesh.spoil();
  expect(kept).toEqual(['empty', 'empty']);
  expect(mesh.trust.hash).toBe(hash);
  await mesh.rotate();
  expect(mesh.trust.hash).not.toBe(hash);
});

test('two meshes do not trust each other', async () => {
  const [one, two] = [scope.add(await openTestMesh()), scope.add(await openTestMesh())];
  const { url } = scope.add(await listen(one.identity.serve(createServer())));
  await expect(two.trust.fetch(url)).rejects.toThrow('fetch failed');
});
