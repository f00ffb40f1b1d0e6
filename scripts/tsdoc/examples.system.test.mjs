// Compiles the examples, and runs them in a process of their own.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { PUBLISHED } from '../pack/published.mjs';
import { faultsOf } from './run.mjs';
import { setStage } from './stage.mjs';
import { examplesIn, surfaceOf } from './surface.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const surface = PUBLISHED.flatMap(({ entries, declared }) =>
  Object.keys(declared).flatMap((entry) => surfaceOf(root, entries[entry])),
);

test('every example in TSDoc compiles, runs, and prints what it says', async () => {
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
