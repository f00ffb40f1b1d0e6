// Against: the tools of Go and Rust. What each client's own tests and linters say.
import { expect, test } from 'vitest';
import { tool } from './conformance/src/build.ts';

test('the Go client is formatted, vetted, and passes its tests with the race detector', async () => {
  expect(await tool('go', 'gofmt', '-l', '.')).toBe('');
  await tool('go', 'go', 'vet', './...');
  await tool('go', 'go', 'test', '-race', './...');
});

test('the Rust client is formatted, without a warning of clippy, and passes its tests', async () => {
  await tool('rust', 'cargo', 'fmt', '--check');
  await tool('rust', 'cargo', 'clippy', '--quiet', '--locked', '--all-targets', '--', '-D', 'warnings');
  await tool('rust', 'cargo', 'test', '--quiet', '--locked');
});

test('the Rust example shows a rotation', async () => {
  const said = await tool('rust', 'cargo', 'run', '--quiet', '--locked', '--example', 'mesh');
  expect(said.split('\n').filter((line) => line === 'hello')).toHaveLength(4);
});
