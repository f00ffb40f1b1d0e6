import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { PUBLISHED } from '../pack/published.mjs';
import { runtimeReference } from './reference.mjs';
import { faultsOf } from './run.mjs';
import { setStage } from './stage.mjs';
import { examplesIn, problemsIn, surfaceOf } from './surface.mjs';

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

test('every example compiles, runs, and prints what it says', async () => {
  // below node_modules, so that imports are found
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const directory = mkdtempSync(join(cache, 'tsdoc-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const stage = await setStage(directory);
  onTestFinished(() => stage.end());
  const examples = examplesIn(surface);
  expect(examples.length).toBeGreaterThan(60);
  expect(await faultsOf(root, directory, examples, stage)).toEqual([]);
});
