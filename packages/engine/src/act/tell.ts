import type { Leaf } from '@handover/core';
import { HandoverError } from '@handover/material';
import type { Home, ObjectId, ProgramTeller, ReloadHooks, StoredObject } from '../look/home.ts';
import type { Look } from '../look/look.ts';
import type { Responsibilities } from '../look/responsibilities.ts';
import { seenAs } from '../look/stored-object.ts';
import { inParallel } from '../observe/observe.ts';

export interface TellOptions {
  /** Programs that take long to be told must not keep other authorities waiting: the rest is told at the next pass. */
  readonly budgetMs?: number;
  /** Told side by side, so that one that hangs holds up no other. */
  readonly atOnce?: number;
  /** A program that fails within this is tried at each pass. */
  readonly slowMs?: number;
  /** Milliseconds, by a clock that cannot be set. Default: `performance.now`. */
  readonly now?: () => number;
}

const DEFAULTS = { budgetMs: 30_000, atOnce: 16, slowMs: 1_000, now: () => performance.now() };
/** A program that could not be told after a long wait is left alone for this many times as long. */
const REST = 9;

interface Due {
  readonly id: ObjectId;
  readonly leaf: Leaf;
  readonly stored: StoredObject;
}

const dueFor = async (look: Look, responsibilities: Responsibilities): Promise<readonly Due[]> => {
  const due: Due[] = [];
  for (const [id, leaf] of responsibilities.leaves) {
    if (leaf.spec.reload === undefined) continue;
    const stored = await look.objects.read(id);
    // What was never written here is nothing to tell of.
    if (stored?.record === undefined || (await look.told?.(id))?.version === stored.version) continue;
    due.push({ id, leaf, stored });
  }
  return due;
};

/** Tells programs, and remembers those that could not be told. */
export class Teller implements ProgramTeller {
  readonly hooks: ReloadHooks;
  readonly #options: Required<TellOptions>;
  /** Why a program could not be told, and until when it is left alone. */
  readonly #failed = new Map<ObjectId, { readonly why: string; readonly until: number }>();

  constructor(hooks: ReloadHooks, options: TellOptions = {}) {
    this.hooks = hooks;
    this.#options = { ...DEFAULTS, ...options };
  }

  async tell(home: Home, responsibilities: Responsibilities): Promise<readonly string[]> {
    const { budgetMs, atOnce, slowMs, now } = this.#options;
    const failed = this.#failed;
    const begun = now();
    // What this pass wrote is there by now: a look from before does not show it.
    const due = await dueFor(await home.fresh(), responsibilities);
    const untold: string[] = [];
    // Those that failed the last time come last.
    const order = [...due].sort((a, b) => Number(failed.has(a.id)) - Number(failed.has(b.id)));
    const ready = order.filter(({ id }) => {
      const last = failed.get(id);
      if (last === undefined || begun >= last.until) return true;
      untold.push(last.why);
      return false;
    });
    let told = 0;
    const late: ObjectId[] = [];
    await inParallel(ready, atOnce, async ({ id, leaf, stored }) => {
      const start = now();
      if (told++ >= atOnce && start >= begun + budgetMs) {
        late.push(id);
        return;
      }
      try {
        await this.hooks.tell(id, leaf, seenAs(id, stored, responsibilities.id, [], home.clock.now()));
        failed.delete(id);
      } catch (error) {
        if (!(error instanceof HandoverError)) throw error;
        const why = `${id}: ${error.message}`;
        const end = now();
        const rest = end - start > slowMs ? REST * (end - start) : 0;
        failed.set(id, { why, until: end + rest });
        untold.push(why);
      }
    });
    const [first] = late;
    if (first !== undefined)
      untold.push(
        `${first} and those after it: not told yet, those before took ${budgetMs / 1_000} s; at the next pass`,
      );
    return untold;
  }
}
