import { after, type Instant, instant } from '@handover/material';
import { FairSemaphore } from '../../scheduling/fair-semaphore.ts';
import type { AuthorityId, ObjectId, StoredObject } from '../../snapshot/home.ts';
import { type HookStatus, hookStatus } from '../../snapshot/hook-status.ts';
import {
  dueFor,
  type Hook,
  type HookContent,
  type HookRecord,
  type HookResult,
  hookContent,
  hooksOf,
  reloadMethodOf,
  type Told,
} from '../../snapshot/hooks.ts';
import type { Meters } from '../../snapshot/meters.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { type HookRecords, isPast } from './hook-records.ts';
import type { HookRequests } from './hook-requests.ts';
import { type HookEnd, type HookTools, runHook } from './hook-ways.ts';

/** The generation that signed the leaf, or the newest that is trusted. */
const generationIn = async (
  snapshot: Snapshot,
  hook: Hook,
  stored: StoredObject | undefined,
): Promise<number | undefined> => {
  const [authority] = hook.authorities;
  const record = stored?.record;
  if (authority === undefined || record === undefined) return undefined;
  const state = (await snapshot.authorities.load(authority))?.state;
  const held =
    record.leaf === undefined
      ? new Set(record.anchors.map(({ fingerprint }) => fingerprint))
      : new Set([record.leaf.issuer]);
  const numbers = (state?.generations ?? [])
    .filter(({ anchors }) => anchors.some(({ fingerprint }) => held.has(fingerprint)))
    .map(({ number }) => number);
  return numbers.length === 0 ? undefined : Math.max(...numbers);
};

/** What the environment of a hook says, by variable. */
async function hookFacts(
  snapshot: Snapshot,
  out: string,
  hook: Hook,
  objects: ReadonlyMap<ObjectId, StoredObject>,
  reason: string,
): Promise<Readonly<Record<string, string>>> {
  const [first = ''] = hook.objects;
  const [kind = '', name = ''] = hook.name.split(' ');
  const generation = await generationIn(snapshot, hook, objects.get(first));
  return {
    HANDOVER_REASON: reason,
    HANDOVER_DIRECTORY: `${out}/${first.split('/').slice(0, 3).join('/')}`,
    ...(kind === 'Leaf' ? { HANDOVER_LEAF: name } : {}),
    ...(kind === 'TrustBundle' ? { HANDOVER_BUNDLE: name } : {}),
    ...(hook.authorities.length === 0 ? {} : { HANDOVER_AUTHORITY: hook.authorities.join(' ') }),
    ...(generation === undefined ? {} : { HANDOVER_GENERATION: String(generation) }),
  };
}

/** Hooks at once; the others wait for their turn. */
const AT_ONCE = 16;
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 300_000;

interface HooksOptions extends HookTools {
  readonly records: HookRecords;
  readonly requests: HookRequests;
  /** The `out` directory. */
  readonly out: string;
  readonly now: () => Instant;
  readonly meters: Meters;
}

/** Runs hooks beside the controller, one at a time for each, and remembers how they ended. */
export class DirectoryHooks {
  readonly #options: HooksOptions;
  readonly #running = new Map<string, Promise<void>>();
  /** Tried by this process: a new process tries at once what failed before. */
  readonly #tried = new Set<string>();
  readonly #semaphore = new FairSemaphore({ inAll: AT_ONCE, each: AT_ONCE });
  readonly #faults: unknown[] = [];
  readonly #stopping = new AbortController();
  /** Called when one has ended. */
  onEnd: (hook: Hook, status: HookStatus) => void = () => {};

  constructor(options: HooksOptions) {
    this.#options = options;
  }

  /** Starts the hooks of an authority that are due, and waits for none. Says when the next is due. */
  tell(snapshot: Snapshot, authority: AuthorityId): Promise<Instant | undefined> {
    return this.tend(snapshot, hooksOf(snapshot.catalogue, authority));
  }

  async tend(snapshot: Snapshot, hooks: readonly Hook[]): Promise<Instant | undefined> {
    // A record that cannot be written ends or delays the pass, as any other file does.
    const [fault] = this.#faults.splice(0);
    if (fault !== undefined) throw fault;
    const { records, requests, now } = this.#options;
    const asked = requests.pending();
    let next = Number.POSITIVE_INFINITY;
    for (const hook of hooks) {
      if (this.#running.has(hook.name)) continue;
      const content = await hookContent(snapshot, hook);
      // A pass of another authority may have started it meanwhile.
      if (this.#running.has(hook.name)) continue;
      const record = records.read(hook);
      const due = dueFor(hook, record, content.parts);
      const answers = asked.get(hook.name) ?? [];
      if (due.length === 0 && answers.length === 0) continue;
      const { nextTry } = record?.last ?? {};
      const mayTry = !this.#tried.has(hook.name) || isPast(nextTry, now(), LONGEST_WAIT_MS);
      if (answers.length > 0) this.#start(snapshot, hook, content, 'asked', answers);
      else if (mayTry) this.#start(snapshot, hook, content, due.join(','), []);
      else next = Math.min(next, nextTry ?? next);
    }
    return Number.isFinite(next) ? instant(next) : undefined;
  }

  /** Runs it now, and waits for its end. */
  async runNow(snapshot: Snapshot, hook: Hook): Promise<void> {
    await this.#running.get(hook.name);
    this.#start(snapshot, hook, await hookContent(snapshot, hook), 'asked', []);
    await this.#running.get(hook.name);
    const [fault] = this.#faults.splice(0);
    if (fault !== undefined) throw fault;
  }

  /** Waits for those that run. True: there were some. */
  async idle(): Promise<boolean> {
    const running = [...this.#running.values()];
    await Promise.all(running);
    return running.length > 0;
  }

  /** Ends those that run, with their children. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.idle();
  }

  #start(
    snapshot: Snapshot,
    hook: Hook,
    content: HookContent,
    reason: string,
    answers: readonly string[],
  ): void {
    this.#tried.add(hook.name);
    const work = async (): Promise<void> => {
      let status: HookStatus | undefined;
      try {
        status = await this.#semaphore.take('', () => this.#run(snapshot, hook, content, reason));
        for (const request of answers) await this.#options.requests.remove(request);
      } catch (error) {
        this.#faults.push(error);
      }
      // First: its end calls for a pass, which may have to start it again.
      this.#running.delete(hook.name);
      if (status !== undefined) this.onEnd(hook, status);
    };
    this.#running.set(hook.name, work());
  }

  /** Undefined: it was stopped, because this process ends. */
  async #run(
    snapshot: Snapshot,
    hook: Hook,
    content: HookContent,
    reason: string,
  ): Promise<HookStatus | undefined> {
    const { records, now, out, meters } = this.#options;
    if (this.#stopping.signal.aborted) return undefined;
    const begun = now();
    const stamps = records.read(hook)?.wanted ?? {};
    const facts = await hookFacts(snapshot, out, hook, content.objects, reason);
    const end: HookEnd =
      content.parts.size === 0
        ? { result: 'other', message: 'its files are not written yet' }
        : await runHook(this.#options, hook, facts, this.#stopping.signal);
    // It is not known what it did: the next process runs it again.
    const { result } = end;
    if (result === 'stopped') return undefined;
    meters.told(reloadMethodOf(hook), result);
    const at = now();
    await records.update(hook, (before) => {
      const last = resultOf({ ...end, result }, before.last, at, reason);
      if (result !== 'done') return { ...before, last };
      return { ...before, told: toldOf(before, content, at), restarted: { at: begun, stamps }, last };
    });
    return hookStatus(hook, records.read(hook), content.parts);
  }
}

const resultOf = (
  { result, exitCode, message }: HookEnd & { readonly result: HookResult['result'] },
  before: HookResult | undefined,
  at: Instant,
  reason: string,
): HookResult => {
  if (result === 'done') return { at, result, exitCode, reason, failures: 0 };
  const failures = (before?.failures ?? 0) + 1;
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures - 1, 10));
  const nextTry = after(at, wait);
  return { at, result, exitCode, message, reason, failures, nextTry };
};

/** Since when its program has been told of each CA and of the issuer of its leaf. */
const toldOf = (before: HookRecord, content: HookContent, at: Instant): Readonly<Record<ObjectId, Told>> =>
  Object.fromEntries(
    [...content.objects].map(([id, { record }]) => {
      const earlier = before.told?.[id];
      const issuer = record?.leaf?.issuer;
      const told: Told = {
        parts: content.parts.get(id) ?? {},
        anchors: (record?.anchors ?? []).map(({ fingerprint }) => ({
          fingerprint,
          since: earlier?.anchors.find((anchor) => anchor.fingerprint === fingerprint)?.since ?? at,
        })),
        issuer:
          issuer === undefined
            ? undefined
            : {
                fingerprint: issuer,
                since: earlier?.issuer?.fingerprint === issuer ? earlier.issuer.since : at,
              },
      };
      return [id, told];
    }),
  );
