import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { PlannerUnderCheck } from './moves.ts';
import type { Mutant } from './mutant.ts';

// Inside this package, so that the planner's imports resolve. It imports nothing outside its folder but packages.
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', 'mutants');

/** The real planner with one line changed: its build is copied, patched and loaded from there. */
export const mutate = async (mutant: Mutant, index: number): Promise<PlannerUnderCheck> => {
  const source = join(dirname(fileURLToPath(import.meta.resolve('@handover/core'))), 'plan');
  const folder = join(ROOT, `${process.pid}-${index}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(source, folder, { recursive: true });
  const file = join(folder, mutant.file);
  const text = readFileSync(file, 'utf8');
  const places = text.split(mutant.from).length - 1;
  if (places !== 1)
    throw new Error(`mutant "${mutant.name}" fits ${places} places of ${mutant.file}, not one`);
  writeFileSync(
    file,
    text.replace(mutant.from, () => mutant.to),
  );
  const loaded = (await import(pathToFileURL(join(folder, 'plan.js')).href)) as { plan: PlannerUnderCheck };
  rmSync(folder, { recursive: true, force: true });
  return loaded.plan;
};
