import {
  formatStamp,
  type ProfileWorkload,
  parseStamp,
  RESTARTED_AT,
  type Stamp,
  TLS_PROFILE_HASH,
  TRUST_HASH,
} from '@handover/core';
import type { AuthorityId, Rollouts } from '@handover/engine';
import type { Kube, KubeErrorCode } from '@handover/kube';
import { HandoverError, type Instant, iso } from '@handover/material';
import { OperatorError } from '../error.ts';
import { FairMap } from '../objects/fair-map.ts';
import { Obstacles } from '../objects/obstacles.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import { ProfileStamps } from './profile-stamps.ts';
import { namespaceOfConsumer, ROLLABLE, type Workload } from './workload.ts';
import { WORKLOAD_KINDS, type Workloads } from './workload-cache.ts';

/** The stamps of all authorities that a workload reads from, in one annotation: `ns/name=2.0.2-1a2b3c4d ns/other=1.0`. */
const entriesOf = (text: string | undefined): ReadonlyMap<string, string> =>
  new Map(
    (text ?? '').split(' ').flatMap((entry) => {
      const at = entry.indexOf('=');
      return at <= 0 ? [] : [[entry.slice(0, at), entry.slice(at + 1)] as const];
    }),
  );

export const stampIn = (text: string | undefined, authority: AuthorityId): Stamp | undefined => {
  const found = entriesOf(text).get(authority);
  return found === undefined ? undefined : parseStamp(found);
};

/** The annotation with one authority's stamp replaced. */
const withStamp = (text: string | undefined, authority: AuthorityId, stamp: Stamp): string =>
  [...new Map(entriesOf(text)).set(authority, formatStamp(stamp))]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, value]) => `${id}=${value}`)
    .join(' ');

/** Of all namespaces; a workload that is deleted before the watch shows its stamp is forgotten in the end. */
const MOST_STAMPED = 2_000;

const LOST: ReadonlySet<string> = new Set<KubeErrorCode>(['KUBE_CONFLICT', 'KUBE_NOT_FOUND']);

/** Rolls restart-only workloads by a stamp on their pod template, as `kubectl rollout restart` does. */
export class KubeRollouts implements Rollouts {
  readonly #kube: Kube;
  readonly #workloadCache: Workloads;
  readonly #now: () => Instant;
  readonly #signal: AbortSignal;
  readonly obstacles = new Obstacles();
  /** Versions that were stamped, until the watch shows what became of them. */
  readonly #stamped = new FairMap<string>(MOST_STAMPED, namespaceOfConsumer);
  readonly #profileStamps = new ProfileStamps();

  constructor(kube: Kube, workloadCache: Workloads, now: () => Instant, signal: AbortSignal) {
    this.#kube = kube;
    this.#workloadCache = workloadCache;
    this.#now = now;
    this.#signal = signal;
  }

  /** Whether a workload was stamped at this version: it rolls, whatever the watch still says. */
  isUnderWay(consumer: string, version: string): boolean {
    if (this.#stamped.get(consumer) === version) return true;
    this.#stamped.delete(consumer);
    return false;
  }

  stamp(consumer: string, expect: string, stamp: Stamp, authority: AuthorityId): Promise<void> {
    return this.#annotate(consumer, expect, ({ annotations }) => ({
      [TRUST_HASH]: withStamp(annotations[TRUST_HASH], authority, stamp),
    }));
  }

  /** The same for a TLS profile, whose stamp is its hash. */
  async stampProfile(consumer: string, expect: string, hash: string): Promise<void> {
    await this.#annotate(consumer, expect, () => ({ [TLS_PROFILE_HASH]: hash }));
    this.#profileStamps.wrote(consumer, hash, expect);
  }

  /** Whether another program took the stamp of a TLS profile off again. */
  undone(consumer: string, workload: Workload): ProfileWorkload['undone'] {
    return this.#profileStamps.undone(consumer, workload, this.#now());
  }

  async #annotate(
    consumer: string,
    expect: string,
    stamps: (workload: Workload) => Readonly<Record<string, string>>,
  ): Promise<void> {
    const [kindName = '', path = ''] = consumer.split(' ');
    const [namespace = '', name = ''] = path.split('/');
    const kind = ROLLABLE.find((candidate) => candidate === kindName);
    const workload = kind === undefined ? undefined : this.#workloadCache.workload(kind, namespace, name);
    if (kind === undefined || workload?.version !== expect) throw changed(consumer);
    const annotations = {
      ...stamps(workload),
      [RESTARTED_AT]: iso(this.#now()),
    };
    try {
      await this.#kube.patch(
        WORKLOAD_KINDS[kind],
        { namespace, name },
        {
          merge: { metadata: { resourceVersion: expect }, spec: { template: { metadata: { annotations } } } },
          fieldManager: FIELD_MANAGER,
          signal: this.#signal,
        },
      );
      this.#stamped.set(consumer, expect);
      this.obstacles.overcome(consumer);
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      if (LOST.has(error.code)) throw changed(consumer, error);
      // Forbidden, or refused by an admission policy: the same answer every time, and no reason to stop everything else.
      if (error.retry === 'never')
        this.obstacles.met(consumer, `the API server refused to restart it: ${error.message}`, this.#now());
      throw error;
    }
  }
}

const changed = (consumer: string, cause?: unknown): HandoverError =>
  new OperatorError('CONFLICT', `${consumer} changed meanwhile; looking again`, {
    retry: 'now',
    path: consumer,
    cause,
  });
