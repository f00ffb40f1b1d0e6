import type { Stamp } from '@handover/core';
import type { AuthorityId, Rollouts } from '@handover/engine';
import type { Kube } from '@handover/kube';
import { HandoverError, type Instant } from '@handover/material';
import { Obstacles } from '../home/obstacles.ts';
import { FIELD_MANAGER } from '../home/record.ts';
import { TRUST_HASH } from '../marks.ts';
import { type Residents, WORKLOAD_KINDS } from './population.ts';
import { withStamp } from './stamps.ts';
import { ROLLABLE } from './workload.ts';

const LOST: ReadonlySet<string> = new Set(['KUBE_CONFLICT', 'KUBE_NOT_FOUND']);
const REFUSED: ReadonlySet<string> = new Set(['KUBE_FORBIDDEN', 'KUBE_INVALID']);

/** Rolls restart-only workloads by a stamp on their pod template, as `kubectl rollout restart` does. */
export class KubeRollouts implements Rollouts {
  readonly #kube: Kube;
  readonly #population: Residents;
  readonly #now: () => Instant;
  readonly #signal: AbortSignal;
  readonly obstacles = new Obstacles();

  constructor(kube: Kube, population: Residents, now: () => Instant, signal: AbortSignal) {
    this.#kube = kube;
    this.#population = population;
    this.#now = now;
    this.#signal = signal;
  }

  async stamp(consumer: string, expect: string, stamp: Stamp, authority: AuthorityId): Promise<void> {
    const [kindName = '', path = ''] = consumer.split(' ');
    const [namespace = '', name = ''] = path.split('/');
    const kind = ROLLABLE.find((candidate) => candidate === kindName);
    const workload = kind === undefined ? undefined : this.#population.workload(kind, namespace, name);
    if (kind === undefined || workload?.version !== expect) throw changed(consumer);
    const annotations = {
      [TRUST_HASH]: withStamp(workload.annotations[TRUST_HASH], authority, stamp),
      'kubectl.kubernetes.io/restartedAt': new Date(this.#now()).toISOString(),
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
      this.obstacles.overcome(consumer);
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      if (LOST.has(error.code)) throw changed(consumer, error);
      if (REFUSED.has(error.code))
        this.obstacles.met(consumer, `the API server refuses to restart it: ${error.message}`, this.#now());
      throw error;
    }
  }
}

const changed = (consumer: string, cause?: unknown): HandoverError =>
  new HandoverError('CONFLICT', `${consumer} changed meanwhile; looking again`, {
    retry: 'now',
    path: consumer,
    cause,
  });
