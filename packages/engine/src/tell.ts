import { HandoverError } from '@handover/material';
import type { Duties } from './policy-for.ts';
import type { Home } from './ports.ts';
import { seenAs } from './stored-object.ts';

/** Tells every program whose files are newer than the last time it was told; returns those that could not be. */
export async function tellPrograms(home: Home, duties: Duties): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const [id, leaf] of duties.leaves) {
    if (home.reloads === undefined || leaf.spec.reload === undefined) continue;
    const stored = await home.objects.read(id);
    if (stored === undefined || (await home.reloads.told(id))?.version === stored.version) continue;
    try {
      await home.reloads.tell(id, leaf, seenAs(id, stored, duties.id, [], home.clock.now()));
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      failed.push(`${id}: ${error.message}`);
    }
  }
  return failed;
}
