import type { ConsumerSeen } from '@handover/core';
import { type Instant, isMap } from '@handover/material';
import { EngineError } from '../../error.ts';
import { type DeclaredConsumer, isAsked } from '../../evidence/whereabouts.ts';
import { idOf } from '../../snapshot/catalogue.ts';
import type { AuthorityId } from '../../snapshot/home.ts';
import type { Responsibilities } from '../../snapshot/responsibilities.ts';
import type { EvidenceSource, HomeClock } from '../../snapshot/snapshot.ts';
import { type Files, replaceFile } from '../disk/files.ts';
import { userHere } from './requests.ts';

/** A person's word that a program was restarted. */
export interface Ack {
  readonly at: Instant;
  readonly by: string;
}

interface Filed extends Ack {
  /** Since when the clock had run evenly: a date from before the clock was set cannot be compared with later ones. */
  readonly steadySince: Instant | null;
}

/** As many consumers as an Authority may declare, and far more than their names take. */
const MOST_ACKS = 1_000;
const MOST_NAME = 256;

const isFiled = (value: unknown): value is Filed =>
  isMap(value) &&
  typeof value.at === 'number' &&
  typeof value.by === 'string' &&
  (value.steadySince === null || typeof value.steadySince === 'number');

/** Acknowledgements by people, one file for each authority in the state, which only the user of `handover run` can write. */
export class DirectoryAcks {
  readonly #files: Files;
  readonly #root: string;
  readonly #clock: HomeClock;

  constructor(files: Files, root: string, clock: HomeClock) {
    this.#files = files;
    this.#root = root;
    this.#clock = clock;
  }

  #filed(authority: AuthorityId): ReadonlyMap<string, Filed> {
    const bytes = this.#files.read(`${this.#root}/${authority}.json`);
    if (bytes === undefined) return new Map();
    try {
      const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
      const entries = isMap(value) ? Object.entries(value).slice(0, MOST_ACKS) : [];
      return new Map(entries.filter((entry): entry is [string, Filed] => isFiled(entry[1])));
    } catch {
      return new Map(); // not whole: no command can have said that it was accepted
    }
  }

  /** Those that count: dated by a clock that has not been set since. */
  read(authority: AuthorityId): ReadonlyMap<string, Ack> {
    const steady = this.#clock.steadySince() ?? null;
    const now = this.#clock.now();
    return new Map(
      [...this.#filed(authority)].filter(([, { at, steadySince }]) => steadySince === steady && at <= now),
    );
  }

  /** Notes that a consumer was restarted just now, and by which user's word. */
  async add(authority: AuthorityId, consumer: string, known: readonly string[]): Promise<Ack> {
    const { user, uid } = userHere();
    const by = (user ?? `user ${uid ?? 'unknown'}`).slice(0, MOST_NAME);
    const ack = { at: this.#clock.now(), by, steadySince: this.#clock.steadySince() ?? null };
    const kept = [...this.#filed(authority)].filter(([name]) => known.includes(name));
    const [namespace = '', name = ''] = authority.split('/');
    await this.#files.makeDirectory(`${this.#root}/${namespace}`, 0o700);
    const all = Object.fromEntries([...kept, [consumer, ack]]);
    await replaceFile(
      this.#files,
      `${this.#root}/${namespace}`,
      `${name}.json`,
      `${JSON.stringify(all)}\n`,
      0o600,
    );
    return ack;
  }
}

/** How a consumer is asked itself: then its answer counts, and no person's word. */
const wayOf = ({ probe, status }: DeclaredConsumer): string =>
  probe !== undefined ? 'probe' : status !== undefined ? 'status document' : 'metrics page';

/** Which consumer of which authority a person means. */
export const ackTarget = (
  authorities: Iterable<Responsibilities['authority']>,
  consumer: string,
  only: AuthorityId | undefined,
): { readonly authority: AuthorityId; readonly known: readonly string[] } => {
  const all = [...authorities].filter((authority) => only === undefined || idOf(authority) === only);
  const found = all.flatMap((authority) =>
    authority.spec.consumers
      .filter(({ name }) => name === consumer)
      .map((declared) => ({ authority, declared })),
  );
  const [first, second] = found;
  if (first === undefined) {
    const names = [...new Set(all.flatMap(({ spec }) => spec.consumers.map(({ name }) => name)))];
    throw new EngineError(
      'ACK_UNKNOWN',
      `no Authority declares a consumer ${consumer}; ${names.length === 0 ? 'declare it in spec.consumers' : `there is ${names.slice(0, 5).join(', ')}`}`,
      { path: consumer },
    );
  }
  const ids = found.map(({ authority }) => idOf(authority));
  if (second !== undefined)
    throw new EngineError(
      'ACK_AMBIGUOUS',
      `${ids.slice(0, 5).join(' and ')} declare a consumer ${consumer}; name one by --authority`,
      { path: consumer },
    );
  if (isAsked(first.declared))
    throw new EngineError(
      'ACK_NOT_ASKED',
      `${consumer} is asked itself, by the ${wayOf(first.declared)} that ${ids[0]} declares, and its answer counts; see handover status`,
      { path: consumer },
    );
  return {
    authority: idOf(first.authority),
    known: first.authority.spec.consumers.map(({ name }) => name),
  };
};

/** Consumers of `inner`, with what people said about those that cannot be asked. */
export const withAcks = (inner: EvidenceSource, acks: DirectoryAcks): EvidenceSource => ({
  consumers: async (responsibilities, record, now, issued) => {
    const found = await inner.consumers(responsibilities, record, now, issued);
    const { consumers } = responsibilities.authority.spec;
    const silent = new Set(consumers.filter((one) => !isAsked(one)).map(({ name }) => name));
    const said = silent.size === 0 ? new Map<string, Ack>() : acks.read(responsibilities.id);
    return found.map((consumer) => {
      const ack = silent.has(consumer.id) ? said.get(consumer.id) : undefined;
      return ack === undefined || consumer.instances.length > 0
        ? consumer
        : { ...consumer, ...confirmed(ack) };
    });
  },
});

/** One process that began when the person spoke: it counts for what was written before, and for nothing after. */
const confirmed = ({ at, by }: Ack): Pick<ConsumerSeen, 'instances'> => ({
  instances: [
    { uid: `confirmed by ${by}`, createdAt: at, ready: true, stamp: undefined, proofs: [], confirmedBy: by },
  ],
});
