import { type Action, explain, type Plan, standings } from '@handover/core';
import { authorityStatus, type Observation, type Verdicts } from '@handover/engine';
import { HandoverError } from '@handover/material';
import type {
  About,
  AuthorityPart,
  Awaited,
  BoardDocument,
  Figures,
  LogEntry,
  LogKind,
  Parts,
  Rest,
} from './document.ts';
import { HistoryKeeper } from './history.ts';
import { readMaterial } from './read-material.ts';
import { repairsIn } from './repairs.ts';
import { trustGrid } from './trust-grid.ts';

export interface BoardOptions {
  /** What is looked at, for the page's title. */
  readonly title: string;
  readonly now: () => number;
  /** What belongs to no authority; asked for now and then while somebody looks. */
  readonly rest?: (() => Promise<Rest>) | undefined;
  /** Whoever does the work says itself what it repaired, and who had changed it. Default: read off each look. */
  readonly repairsTold?: boolean;
  /** Something that a reader must know. */
  readonly note?: (() => string | undefined) | undefined;
}

/** One look at one authority, what was decided on it, and whether that was done. */
export interface Pass {
  readonly authority: string;
  readonly plan: Plan;
  readonly observation: Observation;
  readonly acted: boolean;
}

/** Name of a part; authorities have one each: `authority/NAMESPACE/NAME`. */
export type PartName = Exclude<keyof Parts, 'authority'> | `authority/${string}`;

const MOST_LOG = 100;
const MOST_SECONDS = 600;
/** Verdicts are kept by fingerprint; time passes, so that they are asked for anew after this. */
const VERDICTS_MS = 600_000;
const REST_EVERY_MS = 10_000;
const WATCHED_MS = 10_000;

const EMPTY: Rest = { trustBundles: [], tlsProfiles: [], remarks: [] };

interface Last {
  readonly pass: Pass;
  part?: Promise<AuthorityPart>;
}

/** What there is to show. It is told by whoever does the work, asks nobody, and remembers within bounds. */
export class Board {
  readonly #options: BoardOptions;
  readonly #startedAt: number;
  readonly #last = new Map<string, Last>();
  readonly #histories = new Map<string, HistoryKeeper>();
  readonly #known = new Map<string, ReadonlySet<string>>();
  readonly #listeners = new Set<(part: PartName) => void>();
  #log: readonly LogEntry[] = [];
  #entries = 0;
  #repairs = 0;
  #verdicts: Verdicts = new Map();
  #verdictsUntil = 0;
  #figures: Figures | undefined;
  #rest: Rest = EMPTY;
  #restDue = 0;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(options: BoardOptions) {
    this.#options = options;
    this.#startedAt = options.now();
  }

  /** Calls `listener` with the name of each part that changed; returns what ends that. */
  onChange(listener: (part: PartName) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether somebody looks, or did a moment ago. */
  get watched(): boolean {
    return this.#listeners.size > 0 || this.#options.now() - this.#askedAt < WATCHED_MS;
  }

  #changed(part: PartName): void {
    for (const listener of this.#listeners) listener(part);
  }

  saw(pass: Pass): void {
    const { authority, plan, observation } = pass;
    const now = this.#options.now();
    const isNew = !this.#last.has(authority);
    const phase = this.#last.get(authority)?.pass.plan.phase;
    this.#last.set(authority, { pass });
    const history = this.#histories.get(authority) ?? new HistoryKeeper(now);
    this.#histories.set(authority, history);
    history.saw(observation.record?.state, now);
    if (pass.acted) {
      const told = this.#options.repairsTold === true;
      const known = this.#known.get(authority) ?? new Set<string>();
      for (const { object, what } of told ? [] : repairsIn(plan.actions, observation, known))
        this.repaired(object, what === 'deleted' ? 'somebody had deleted it' : 'somebody had changed it');
      this.#tell(authority, plan);
    }
    this.#known.set(authority, new Set(observation.stored.keys()));
    if (phase !== plan.phase) this.#phase(plan.phase, now);
    if (isNew) this.#changed('about');
    this.#changed(`authority/${authority}`);
  }

  #tell(authority: string, plan: Plan): void {
    const byKind = new Map<LogKind, Action[]>();
    for (const action of plan.actions) {
      const kind = KINDS[action.kind];
      byKind.set(kind, [...(byKind.get(kind) ?? []), action]);
    }
    for (const [kind, actions] of byKind) {
      const [first = ''] = explain({ ...plan, actions, blockedBy: [], notes: [] });
      const more = actions.length - 1;
      this.#add(kind, authority, more === 0 ? first : `${first} And ${more} more like it.`);
    }
  }

  /** A drift was put right; `by`: who had changed it. */
  repaired(object: string, by: string): void {
    this.#repairs++;
    this.#add('repair', object, by);
    this.#changed('about');
  }

  failed(what: string, error: unknown): void {
    // Only our own errors are known to hold no key.
    const text = error instanceof HandoverError ? `${error.code}: ${error.message}` : 'INTERNAL: see the log';
    const [last] = this.#log;
    if (last?.kind === 'failure' && last.about === what && last.text === text) return;
    this.#add('failure', what, text);
  }

  #add(kind: LogKind, about: string, text: string): void {
    const at = new Date(this.#options.now()).toISOString();
    this.#log = [{ number: ++this.#entries, at, kind, about, text }, ...this.#log].slice(0, MOST_LOG);
    this.#changed('log');
  }

  /** Authorities that are no longer declared are no longer shown. */
  keepOnly(authorities: ReadonlySet<string>): void {
    const gone = [...this.#last.keys()].filter((id) => !authorities.has(id));
    for (const id of gone) for (const map of [this.#last, this.#histories, this.#known]) map.delete(id);
    if (gone.length > 0) this.#changed('about');
  }

  /** Resources were read anew. */
  reread(): void {
    this.#restDue = 0;
    this.#changed('rest');
  }

  noteChanged(): void {
    this.#changed('about');
  }

  /** Handshakes of one second. */
  counted(went: number, failed: number): void {
    const before = this.#figures ?? NONE;
    const at = Math.round(this.#options.now() / 1000);
    const last = (list: readonly number[], next: number): readonly number[] =>
      [...list, next].slice(-MOST_SECONDS);
    this.#figures = {
      handshakes: before.handshakes + went + failed,
      failures: before.failures + failed,
      at: last(before.at, at),
      went: last(before.went, went),
      failed: last(before.failed, failed),
      phases: before.phases.filter((_, index, all) => (all[index + 1]?.at ?? at) >= at - MOST_SECONDS),
    };
    this.#changed('figures');
  }

  #phase(phase: string, now: number): void {
    const before = this.#figures ?? NONE;
    this.#figures = {
      ...before,
      phases: [...before.phases, { at: now / 1000, phase }].slice(-MOST_SECONDS),
    };
  }

  #authority(id: string): Promise<AuthorityPart> | undefined {
    const last = this.#last.get(id);
    if (last === undefined) return undefined;
    last.part ??= this.#partOf(last.pass);
    return last.part;
  }

  async #partOf({ authority, plan, observation }: Pass): Promise<AuthorityPart> {
    const now = this.#options.now();
    if (now >= this.#verdictsUntil) {
      this.#verdicts = new Map();
      this.#verdictsUntil = now + VERDICTS_MS;
    }
    const history = this.#histories.get(authority)?.history() ?? { watchedSince: '', spans: [] };
    const verdicts = this.#verdicts;
    const material = await readMaterial(observation, verdicts);
    const standing = standings(observation.seen, observation.responsibilities.policy, observation.now);
    const awaited = standing
      .filter(({ lacks }) => lacks.length > 0)
      .map(
        ({ consumer, lacks }): Awaited => ({
          name: consumer,
          waitsFor: lacks.map(({ waitsFor }) => waitsFor),
        }),
      );
    return {
      id: authority,
      status: authorityStatus(observation, plan),
      trust: trustGrid(observation, plan, standing, material, verdicts),
      history,
      awaited,
      blockers: plan.blockedBy.length,
    };
  }

  #about(): About {
    return {
      title: this.#options.title,
      startedAt: new Date(this.#startedAt).toISOString(),
      repairs: this.#repairs,
      note: this.#options.note?.() ?? null,
    };
  }

  async #freshRest(): Promise<Rest> {
    const now = this.#options.now();
    if (this.#options.rest === undefined || now < this.#restDue) return this.#rest;
    this.#restDue = now + REST_EVERY_MS;
    try {
      this.#rest = await this.#options.rest();
    } catch {
      // Whoever does the work finds out as well, and says so; here the last good answer stays.
    }
    return this.#rest;
  }

  /** The names of all parts there are, in the order in which a page wants them. */
  parts(): readonly PartName[] {
    const authorities = [...this.#last.keys()].sort().map((id): PartName => `authority/${id}`);
    const figures: readonly PartName[] =
      this.#figures === undefined || this.#figures.at.length === 0 ? [] : ['figures'];
    return ['about', ...authorities, ...figures, 'log', 'rest'];
  }

  /** One part as it is now; undefined: it has gone. */
  async part(name: PartName): Promise<{ readonly event: keyof Parts; readonly data: unknown } | undefined> {
    switch (name) {
      case 'about':
        return { event: 'about', data: { ...this.#about(), authorities: [...this.#last.keys()].sort() } };
      case 'log':
        return { event: 'log', data: this.#log };
      case 'figures':
        return this.#figures === undefined ? undefined : { event: 'figures', data: this.#figures };
      case 'rest':
        return { event: 'rest', data: await this.#freshRest() };
      default: {
        const data = await this.#authority(name.slice('authority/'.length));
        return data === undefined ? undefined : { event: 'authority', data };
      }
    }
  }

  async document(): Promise<BoardDocument> {
    this.#askedAt = this.#options.now();
    const parts = await Promise.all([...this.#last.keys()].sort().flatMap((id) => this.#authority(id) ?? []));
    return {
      authorities: parts.map(({ status }) => status),
      ...(await this.#freshRest()),
      at: new Date(this.#options.now()).toISOString(),
      about: this.#about(),
      trust: Object.fromEntries(parts.map(({ id, trust }) => [id, trust])),
      history: Object.fromEntries(parts.map(({ id, history }) => [id, history])),
      log: this.#log,
      figures: this.#figures === undefined || this.#figures.at.length === 0 ? null : this.#figures,
    };
  }
}

const NONE: Figures = { handshakes: 0, failures: 0, at: [], went: [], failed: [], phases: [] };

const KINDS = {
  'write-bundle': 'write',
  'write-leaf': 'write',
  stamp: 'roll',
  mint: 'step',
  activate: 'step',
  retire: 'step',
  distrust: 'step',
  'distrust-done': 'step',
} as const satisfies Record<Action['kind'], LogKind>;
