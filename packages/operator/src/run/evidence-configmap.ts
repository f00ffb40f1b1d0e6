import { MANAGED_BY } from '@handover/core';
import type { AuthorityId, ConsumerFound, EvidenceSource } from '@handover/engine';
import { type ConfigMap, configMaps, type Kube } from '@handover/kube';
import { type Instant, instant, iso, type Timer } from '@handover/material';
import { cut, MOST_SAID } from '../cache/bounds.ts';
import { OperatorError } from '../error.ts';
import { stateName } from '../objects/authorities.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import { fieldConsumers } from '../workloads/api-fields.ts';

/** Only the operator can ask pods. It records what it saw in its own namespace, where other programs read it. No key is in it. */
export const evidenceConfigMapName = (authority: AuthorityId): string =>
  stateName(authority).replace('authority', 'seen');
const KEY = 'consumers.json';
const INTERVAL_MS = 2_000;
/** An object may have 1 MiB; a consumer that does not fit is left out, and counted. */
const MOST_BYTES = 900_000;

interface Seen {
  readonly authority: AuthorityId;
  readonly at: string;
  readonly leftOut: number;
  readonly consumers: readonly ConsumerFound[];
}

/** Ignore timestamp-only changes: times of proofs move with every observation. */
const newsIn = (consumers: readonly ConsumerFound[]): string =>
  JSON.stringify(consumers, (key, value: unknown) =>
    key === 'at' || key === 'workloadVersion' ? undefined : value,
  );

/** Those of the own namespace first, so that no stranger takes their room, and what is said of each in a few words. */
const inOrder = (consumers: readonly ConsumerFound[]): readonly ConsumerFound[] =>
  [...consumers]
    .sort((a, b) => Number(b.blocks) - Number(a.blocks))
    .map(({ instances, workload, ...consumer }) => ({
      ...consumer,
      instances: instances.map(({ unread = {}, ...instance }) => ({
        ...instance,
        unread: Object.fromEntries(
          Object.entries(unread).map(([about, why]) => [about, cut(why, MOST_SAID)]),
        ),
      })),
      workload: workload === undefined ? undefined : inBrief(workload),
    }));

const inBrief = ({
  obstacle,
  failing,
  warning,
  ...workload
}: NonNullable<ConsumerFound['workload']>): NonNullable<ConsumerFound['workload']> => ({
  ...workload,
  ...(obstacle === undefined ? {} : { obstacle: cut(obstacle, MOST_SAID) }),
  ...(failing === undefined ? {} : { failing: cut(failing, MOST_SAID) }),
  ...(warning === undefined ? {} : { warning: cut(warning, MOST_SAID) }),
});

const textOf = (authority: AuthorityId, consumers: readonly ConsumerFound[], now: Instant): string => {
  let room = MOST_BYTES;
  const kept = consumers.filter((consumer) => {
    const size = Buffer.byteLength(JSON.stringify(consumer)) + 1;
    if (size > room) return false;
    room -= size;
    return true;
  });
  const seen: Seen = {
    authority,
    at: iso(now),
    leftOut: consumers.length - kept.length,
    consumers: kept,
  };
  return JSON.stringify(seen);
};

/** Publishes what was seen of the consumers of each authority: when it changed, and not more often than every two seconds. */
export class EvidenceWriter {
  readonly #kube: Kube;
  readonly #namespace: string;
  readonly #signal: AbortSignal;
  readonly #onError: (what: string, error: unknown) => void;
  readonly #written = new Map<AuthorityId, { readonly news: string; readonly at: number }>();
  readonly #late = new Map<AuthorityId, Timer>();

  constructor(
    kube: Kube,
    namespace: string,
    signal: AbortSignal,
    onError: (what: string, error: unknown) => void,
  ) {
    this.#kube = kube;
    this.#namespace = namespace;
    this.#signal = signal;
    this.#onError = onError;
  }

  async put(authority: AuthorityId, all: readonly ConsumerFound[], now: Instant): Promise<void> {
    const consumers = inOrder(all.filter(({ reload }) => reload !== 'field'));
    const news = newsIn(consumers);
    const last = this.#written.get(authority);
    this.#late.get(authority)?.cancel();
    if (last?.news === news || this.#signal.aborted) return;
    const wait = INTERVAL_MS - (this.#kube.clock.monotonic() - (last?.at ?? Number.NEGATIVE_INFINITY));
    if (wait > 0) {
      // Once all is at rest the next look is half a minute away: what was seen last has to be told all the same.
      this.#late.set(
        authority,
        this.#kube.clock.after(wait, () => void this.put(authority, consumers, now)).unref(),
      );
      return;
    }
    this.#written.set(authority, { news, at: this.#kube.clock.monotonic() });
    const name = evidenceConfigMapName(authority);
    try {
      // After a restart the last one's words may still be true: then nothing is written.
      if (
        last === undefined &&
        newsIn((await readRecordedEvidence(this.#kube, this.#namespace, authority, this.#signal)) ?? []) ===
          news
      )
        return;
      await this.#kube.patch(
        configMaps,
        { namespace: this.#namespace, name },
        {
          apply: {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: {
              name,
              namespace: this.#namespace,
              labels: { [MANAGED_BY]: 'handover' },
            },
            data: { [KEY]: textOf(authority, consumers, now) },
          },
          fieldManager: FIELD_MANAGER,
          force: true,
          signal: this.#signal,
        },
      );
    } catch (error) {
      this.#written.delete(authority);
      if (!this.#signal.aborted) this.#onError(`recording the consumers of ${authority}`, error);
    }
  }
}

export async function readRecordedEvidence(
  kube: Kube,
  namespace: string,
  authority: AuthorityId,
  signal: AbortSignal,
): Promise<readonly ConsumerFound[] | undefined> {
  const found: ConfigMap | undefined = await kube.get(
    configMaps,
    { namespace, name: evidenceConfigMapName(authority) },
    { signal },
  );
  const text = found?.data?.[KEY];
  if (text === undefined) return undefined;
  try {
    const seen = JSON.parse(text) as Seen;
    return seen.consumers.map((consumer) => ({
      ...consumer,
      instances: consumer.instances.map((instance) => ({
        ...instance,
        createdAt: instance.createdAt === undefined ? undefined : instant(instance.createdAt),
      })),
    }));
  } catch (error) {
    throw new OperatorError(
      'SEEN_UNREADABLE',
      `ConfigMap ${namespace}/${evidenceConfigMapName(authority)} cannot be read; delete it, the operator recreates it`,
      {
        path: evidenceConfigMapName(authority),
        cause: error,
      },
    );
  }
}

/** Consumers as the operator last saw them. API fields are read directly: every reader may. */
export const recordedEvidence = (kube: Kube, namespace: string, signal: AbortSignal): EvidenceSource => ({
  consumers: async (responsibilities) => [
    ...fieldConsumers(responsibilities),
    ...((await readRecordedEvidence(kube, namespace, responsibilities.id, signal)) ?? []).filter(
      ({ reload }) => reload !== 'field',
    ),
  ],
});
