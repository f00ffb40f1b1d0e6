import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { PUBLISHED } from '../pack/published.mjs';
import { runtimeReference } from './reference.mjs';
import { problemsIn, surfaceOf } from './surface.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const surface = PUBLISHED.flatMap(({ entries, declared }) =>
  Object.keys(declared).flatMap((entry) => surfaceOf(root, entries[entry])),
);

test('every name of the published packages has TSDoc with an example, and so has every method', () => {
  expect(problemsIn(surface)).toEqual([]);
});

test('docs/reference/runtime.md is what `npm run generate` writes', () => {
  expect(readFileSync(join(root, 'docs/reference/runtime.md'), 'utf8')).toBe(runtimeReference(root));
});
