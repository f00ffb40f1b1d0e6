// Against: the tools of Go and Rust. What each client's own tests and linters say.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { tool } from './conformance/src/build.ts';
import { Material } from './conformance/src/material.ts';

test('the Go client is formatted, vetted, and passes its tests with the race detector', async () => {
  expect(await tool('go', 'gofmt', '-l', '.')).toBe('');
  await tool('go', 'go', 'vet', './...');
  await tool('go', 'go', 'test', '-race', './...');
});

test.each(['certwatcher', 'spiffe'])(
  'the Go adapter for %s is formatted, vetted, and shows what the real one has in use',
  async (name) => {
    const at = `go/adapters/${name}`;
    expect(await tool(at, 'gofmt', '-l', '.')).toBe('');
    await tool(at, 'go', 'vet', './...');
    await tool(at, 'go', 'test', './...');
  },
);

test('the Rust client is formatted, without a warning of clippy, and passes its tests', async () => {
  await tool('rust', 'cargo', 'fmt', '--check');
  await tool('rust', 'cargo', 'clippy', '--quiet', '--locked', '--all-targets', '--', '-D', 'warnings');
  await tool('rust', 'cargo', 'test', '--quiet', '--locked');
});

test('the Rust example shows a rotation', async () => {
  const said = await tool('rust', 'cargo', 'run', '--quiet', '--locked', '--example', 'mesh');
  expect(said.split('\n').filter((line) => line === 'hello')).toHaveLength(4);
});

test('the Rust example shows what a reloader of one’s own has loaded', async () => {
  const material = new Material('');
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'ca.crt'), material.texts(['ca:new', 'ca:old']));
  writeFileSync(join(folder, 'tls.crt'), material.text('leaf:new/web'));
  const said = await tool('rust', 'cargo', 'run', '--quiet', '--locked', '--example', 'shows', '--', folder);
  expect(JSON.parse(said).sources).toMatchObject([
    {
      anchors: ['ca:new', 'ca:old'].map((part) => material.fingerprint(part)),
      leaf: { fingerprint: material.fingerprint('leaf:new/web') },
    },
  ]);
});
