import { HandoverError } from '@handover/material';
import type { Duties } from './policy-for.ts';
import type { Home } from './ports.ts';
import { seenAs } from './stored-object.ts';

/** Programs that take long to be told must not keep other authorities waiting: the rest is told at the next pass. */
const BUDGET_MS = 30_000;

/** Tells every program whose files are newer than the last time it was told; returns those that could not be. */
export async function tellPrograms(
  home: Home,
  duties: Duties,
  budgetMs: number = BUDGET_MS,
): Promise<readonly string[]> {
  const failed: string[] = [];
  const end = performance.now() + budgetMs;
  let told = 0;
  for (const [id, leaf] of duties.leaves) {
    if (home.reloads === undefined || leaf.spec.reload === undefined) continue;
    const stored = await home.objects.read(id);
    // What was never written here is nothing to tell of.
    if (stored?.record === undefined || (await home.reloads.told(id))?.version === stored.version) continue;
    if (told > 0 && performance.now() >= end) {
      failed.push(
        `${id} and those after it: not told yet, those before took ${budgetMs / 1_000} s; at the next pass`,
      );
      break;
    }
    told++;
    try {
      await home.reloads.tell(id, leaf, seenAs(id, stored, duties.id, [], home.clock.now()));
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      failed.push(`${id}: ${error.message}`);
    }
  }
  return failed;
}
