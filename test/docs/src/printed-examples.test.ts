import { expect, test } from 'vitest';
import { blocksIn, textOf } from './documents.ts';
import { fileNameIn } from './markdown.ts';

test.each([
  ['docs/evidence.md', 'clients/rust/examples/shows.rs'],
  ['docs/recipes/rust.md', 'clients/rust/examples/server.rs'],
  ['docs/recipes/python.md', 'examples/python/server.py'],
  ['docs/recipes/java.md', 'examples/java/Server.java'],
])('%s prints %s as it is', (document, path) => {
  expect(blocksIn(document).find((block) => fileNameIn(block) === path)?.text).toBe(textOf(path));
});
