import { type Action, type Plan, sentenceOf, standings, waitGroups } from '@handover/core';
import {
  answer,
  authorityStatus,
  bundleKeyOf,
  certificatesKey,
  digestOf,
  type Material,
  materialIn,
  type Observation,
  readableCertificates,
  type Verdicts,
} from '@handover/engine';
import { iso } from '@handover/material';
import type {
  About,
  AuthorityPart,
  Awaited,
  BoardDocument,
  DocumentParts,
  Figures,
  RestShown,
} from './document.ts';
import { HistoryKeeper } from './history.ts';
import { LogKeeper } from './log-keeper.ts';
import { trustGrid } from './trust-grid.ts';

interface Repair {
  readonly object: string;
  readonly what: 'changed' | 'deleted';
}

/** Objects that another program changed or deleted, and that these actions restore. */
const repairsIn = (
  actions: readonly Action[],
  { stored }: Pick<Observation, 'stored'>,
  known: ReadonlySet<string>,
): readonly Repair[] =>
  actions.flatMap((action): readonly Repair[] => {
    if (action.kind !== 'write-bundle' && action.kind !== 'write-leaf') return [];
    const found = stored.get(action.object);
    if (found === undefined)
      return known.has(action.object) ? [{ object: action.object, what: 'deleted' }] : [];
    const { record } = found;
    // Without an authentic record another program wrote it.
    const changed = record === undefined ? known.has(action.object) : record.digest !== digestOf(found.data);
    return changed ? [{ object: action.object, what: 'changed' }] : [];
  });

/** Work with leases and deadlines in the same thread waits no longer than this. */
const TURN_MS = 10;

/** Yields to other work after each turn. */
const turns = (): (() => Promise<void>) => {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < TURN_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    began = performance.now();
  };
};

/**
 * What the objects of an observation hold, with a verdict on each chain against each distinct bundle. A thousand new leaves take a
 * while to parse and verify, so other work runs in between. Results are kept for the next time.
 */
async function readMaterial(observation: Observation, verdicts: Verdicts): Promise<Material> {
  const turn = turns();
  for (const [id, { data }] of observation.stored) {
    readableCertificates(data['tls.crt']);
    readableCertificates(data[bundleKeyOf(id)]);
    await turn();
  }
  const material = materialIn(observation);
  const distinct = new Map([...material.bundles.values()].map((bundle) => [certificatesKey(bundle), bundle]));
  for (const [object, chain] of material.chains) {
    for (const bundle of distinct.values()) {
      answer(verdicts, chain, bundle, material.purposes.get(object) ?? ['server'], observation.now);
      await turn();
    }
  }
  return material;
}

export interface BoardOptions {
  /** For the page's title. */
  readonly title: string;
  readonly now: () => number;
  /** The status of everything that belongs to no authority; read now and then while the page is open. */
  readonly rest?: (() => Promise<RestShown>) | undefined;
  /** The caller reports repairs itself, with the program that made the change. Default: derived from each pass. */
  readonly repairsTold?: boolean;
  /** A notice above the page. */
  readonly note?: (() => string | undefined) | undefined;
}

/** One observation of an authority, its plan, and whether the plan was carried out. */
export interface Pass {
  readonly authority: string;
  readonly plan: Plan;
  readonly observation: Observation;
  readonly acted: boolean;
}

/** Name of a part; authorities have one each: `authority/NAMESPACE/NAME`. */
export type PartName = Exclude<keyof DocumentParts, 'authority'> | `authority/${string}`;

const MOST_SECONDS = 600;
/** Verdicts are kept by fingerprint for this long: certificates expire. */
const VERDICTS_MS = 600_000;
const REST_EVERY_MS = 10_000;
const WATCHED_MS = 10_000;

const EMPTY: RestShown = { trustBundles: [], tlsProfiles: [], run: null, remarks: [] };

interface Last {
  readonly pass: Pass;
  part?: Promise<AuthorityPart>;
}

/** What the page shows. Controllers report to it; it sends no requests, and its memory is bounded. */
export class Board {
  readonly #options: BoardOptions;
  readonly #startedAt: number;
  readonly #last = new Map<string, Last>();
  readonly #histories = new Map<string, HistoryKeeper>();
  readonly #known = new Map<string, ReadonlySet<string>>();
  readonly #listeners = new Set<(part: PartName) => void>();
  readonly #log: LogKeeper;
  #repairs = 0;
  #verdicts: Verdicts = new Map();
  #verdictsUntil = 0;
  #figures: Figures | undefined;
  #rest: RestShown = EMPTY;
  #restDue = 0;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(options: BoardOptions) {
    this.#options = options;
    this.#startedAt = options.now();
    this.#log = new LogKeeper(options.now);
  }

  /** Calls `listener` with the name of each part that changed; returns a function that ends that. */
  onChange(listener: (part: PartName) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether a page is open, or was a moment ago. */
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
        this.repaired(
          object,
          what === 'deleted' ? 'another program had deleted it' : 'another program had changed it',
        );
      this.#log.acted(authority, plan);
      this.#changed('log');
    }
    this.#known.set(authority, new Set(observation.stored.keys()));
    if (phase !== plan.phase) this.#phase(plan.phase, now);
    if (isNew) this.#changed('about');
    this.#changed(`authority/${authority}`);
  }

  /** A changed object was restored; `by`: what had changed it. */
  repaired(object: string, by: string): void {
    this.#repairs++;
    this.#log.add('repair', object, by);
    this.#changed('log');
    this.#changed('about');
  }

  failed(what: string, error: unknown): void {
    if (this.#log.failed(what, error)) this.#changed('log');
  }

  /** Authorities that are no longer declared are no longer shown. */
  keepOnly(authorities: ReadonlySet<string>): void {
    const gone = [...this.#last.keys()].filter((id) => !authorities.has(id));
    for (const id of gone) for (const map of [this.#last, this.#histories, this.#known]) map.delete(id);
    if (gone.length > 0) this.#changed('about');
  }

  /** Resources were read again. */
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
      waits: waitGroups(plan.blockedBy).map(({ phrase, since }) => ({
        sentence: sentenceOf(phrase),
        since: iso(since),
      })),
    };
  }

  #about(): About {
    return {
      title: this.#options.title,
      startedAt: iso(this.#startedAt),
      repairs: this.#repairs,
      note: this.#options.note?.() ?? null,
    };
  }

  async #freshRest(): Promise<RestShown> {
    const now = this.#options.now();
    if (this.#options.rest === undefined || now < this.#restDue) return this.#rest;
    this.#restDue = now + REST_EVERY_MS;
    try {
      this.#rest = await this.#options.rest();
    } catch {
      // The controller reports the same failure; here the last good answer stays.
    }
    return this.#rest;
  }

  /** The names of all parts, in the order of the page. */
  parts(): readonly PartName[] {
    const authorities = [...this.#last.keys()].sort().map((id): PartName => `authority/${id}`);
    const figures: readonly PartName[] =
      this.#figures === undefined || this.#figures.at.length === 0 ? [] : ['figures'];
    return ['about', ...authorities, ...figures, 'log', 'rest'];
  }

  /** One part as it is now; undefined: it is gone. */
  async part(
    name: PartName,
  ): Promise<{ readonly event: keyof DocumentParts; readonly data: unknown } | undefined> {
    switch (name) {
      case 'about':
        return { event: 'about', data: { ...this.#about(), authorities: [...this.#last.keys()].sort() } };
      case 'log':
        return { event: 'log', data: this.#log.entries };
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
      at: iso(this.#options.now()),
      about: this.#about(),
      trust: Object.fromEntries(parts.map(({ id, trust }) => [id, trust])),
      history: Object.fromEntries(parts.map(({ id, history }) => [id, history])),
      log: this.#log.entries,
      figures: this.#figures === undefined || this.#figures.at.length === 0 ? null : this.#figures,
    };
  }
}

const NONE: Figures = { handshakes: 0, failures: 0, at: [], went: [], failed: [], phases: [] };
