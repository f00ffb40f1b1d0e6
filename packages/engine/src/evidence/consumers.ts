import type { ConsumerSeen, InstanceSeen, Proof } from '@handover/core';
import type { Instant } from '@handover/material';
import { authorityRef, liesElsewhere, ownBundleOf, secretOf } from '../look/catalogue.ts';
import type { AuthorityId, AuthorityRecord, ObjectId } from '../look/home.ts';
import type { EvidenceSource } from '../look/look.ts';
import type { Responsibilities } from '../look/responsibilities.ts';
import { Turns } from '../scheduling/turns.ts';
import { answerOf, type ProbeTools, probe } from './probe.ts';
import { askStatus } from './status-document.ts';
import { asDeclared, type DeclaredConsumer, type Endpoint, type Locator } from './whereabouts.ts';

/**
 * Evidence that answers every question with no: for a consumer that declares a status document or a probe and does not answer. It
 * blocks the next step, and time does not count as evidence for it.
 */
export const silence = (at: Instant): Proof => ({
  by: 'acknowledged',
  anchors: [],
  complete: true,
  issuer: 'unknown',
  at,
});

/** Stands for other programs that may present a Secret. */
const presentersOf = (object: ObjectId, responsibilities: Responsibilities): ConsumerSeen => ({
  id: `servers that present ${object}`,
  reload: 'unknown',
  ownersWord: true,
  blocks: !liesElsewhere(object, responsibilities),
  presents: [object],
  verifies: [],
  stripsCross: false,
  instances: [],
  workload: undefined,
});

const presentedBy = (responsibilities: Responsibilities, consumer: DeclaredConsumer): readonly ObjectId[] => {
  if (!consumer.presents) return [];
  if (consumer.leaf === undefined) return [...responsibilities.leaves.keys()];
  const wanted = authorityRef(consumer.leaf, responsibilities.authority.metadata.namespace);
  return [...responsibilities.leaves.values()]
    .filter((leaf) => `${leaf.metadata.namespace}/${leaf.metadata.name}` === wanted)
    .map(secretOf);
};

const verifiedBy = (responsibilities: Responsibilities, consumer: DeclaredConsumer): readonly ObjectId[] => {
  if (!consumer.verifies) return [];
  const bundle = consumer.bundle === undefined ? undefined : responsibilities.targets.get(consumer.bundle);
  // A program that has a leaf also has the ca.crt beside it.
  return [
    ...(bundle ?? [ownBundleOf(responsibilities.authority)]),
    ...presentedBy(responsibilities, consumer),
  ];
};

/** Consumers asked at once, in all and of one namespace. */
const PLACES = { inAll: 256, each: 32 } as const;
/** How long one look asks: a consumer not asked by then counts as silent, and the next look asks it. */
const LOOK_MS = 15_000;

interface Shown {
  readonly instances: readonly InstanceSeen[];
  readonly stripsCross: boolean;
  readonly silence?: string;
}

/** The consumers that an Authority declares, with what each of them shows right now. */
export class DeclaredConsumers implements EvidenceSource {
  readonly #tools: ProbeTools;
  readonly #locator: Locator;
  readonly #turns: Turns;

  constructor(tools: ProbeTools, locator: Locator = asDeclared) {
    this.#tools = tools;
    this.#locator = locator;
    this.#turns = tools.turns ?? new Turns(PLACES);
  }

  async consumers(
    responsibilities: Responsibilities,
    record: AuthorityRecord | undefined,
    now: Instant,
  ): Promise<readonly ConsumerSeen[]> {
    const declared = responsibilities.authority.spec.consumers;
    const locate = this.#locator(responsibilities);
    const until = performance.now() + LOOK_MS;
    const seen = await Promise.all(
      declared.map(async (consumer): Promise<ConsumerSeen> => {
        const shown = await this.#look(responsibilities, consumer, locate, record, now, until);
        return {
          id: consumer.name,
          reload: consumer.reload ?? 'unknown',
          ownersWord: consumer.reload === 'hot',
          blocks: true,
          presents: presentedBy(responsibilities, consumer),
          verifies: verifiedBy(responsibilities, consumer),
          workload: undefined,
          ...shown,
        };
      }),
    );
    // A consumer that does not name its leaf must not speak for all leaves.
    const vague =
      declared.some(({ presents, leaf }) => presents && leaf === undefined) &&
      responsibilities.leaves.size > 1;
    return vague
      ? [
          ...seen,
          ...[...responsibilities.leaves.keys()].map((object) => presentersOf(object, responsibilities)),
        ]
      : seen;
  }

  async #look(
    responsibilities: Responsibilities,
    consumer: DeclaredConsumer,
    locate: ReturnType<Locator>,
    record: AuthorityRecord | undefined,
    now: Instant,
    until: number,
  ): Promise<Shown> {
    const { name, status, probe: probed } = consumer;
    if (status === undefined && probed === undefined) return { instances: [], stripsCross: false };
    const found = record === undefined ? { endpoints: [{}] } : await locate(consumer);
    if ('refused' in found)
      return { instances: [instanceOf(name, [silence(now)])], stripsCross: false, silence: found.refused };
    const shown = await Promise.all(
      found.endpoints.map((endpoint) =>
        this.#turns.take(responsibilities.authority.metadata.namespace, async () =>
          performance.now() < until ? this.#ask(responsibilities.id, name, endpoint, record, now) : undefined,
        ),
      ),
    );
    const silent = (uid: string | undefined): InstanceSeen => instanceOf(uid ?? name, [silence(now)]);
    const mute = found.endpoints.find((_, index) => shown[index]?.silent !== false);
    return {
      instances: shown.map((one, index) => one?.instance ?? silent(found.endpoints[index]?.uid)),
      stripsCross: shown.some((one) => one?.stripsCross === true),
      ...(mute === undefined || record === undefined ? {} : { silence: unanswered(mute) }),
    };
  }

  async #ask(
    authority: AuthorityId,
    name: string,
    endpoint: Endpoint,
    record: AuthorityRecord | undefined,
    now: Instant,
  ): Promise<{ readonly instance: InstanceSeen; readonly stripsCross: boolean; readonly silent: boolean }> {
    const proofs: Proof[] = [];
    let uid = endpoint.uid ?? name;
    let stripsCross = false;
    if (record !== undefined && endpoint.status !== undefined) {
      const said = await askStatus(endpoint.status, record, now);
      // An address is reused when a pod ends: the document of another pod is no evidence for this one.
      const isItsOwn = endpoint.uid === undefined || (said?.podUid ?? endpoint.uid) === endpoint.uid;
      this.#tools.meters?.asked('status', said === undefined || !isItsOwn ? 'silent' : 'shown');
      if (said !== undefined && isItsOwn) {
        proofs.push(said.proof);
        uid = endpoint.uid ?? `${name}#${said.pid}`;
      }
    }
    if (record !== undefined && endpoint.probe !== undefined) {
      const shown = await probe({ ...endpoint.probe, authority }, record, this.#tools, now);
      this.#tools.meters?.asked('probe', answerOf(shown));
      proofs.push(...(shown?.proofs ?? []));
      stripsCross = shown?.stripsCross ?? false;
      // It answers, but does not show what it trusts: that rests on its owner's word.
      if (shown !== undefined && proofs.length === 0) proofs.push({ by: 'probed', at: now });
    }
    const silent = proofs.length === 0;
    if (silent) proofs.push(silence(now));
    return { instance: instanceOf(uid, proofs), stripsCross, silent };
  }
}

/** Where no answer came from. */
const unanswered = ({ status, probe: probed }: Endpoint): string =>
  [
    ...(status === undefined
      ? []
      : [`no status document from ${status.file ?? status.socket ?? status.url}`]),
    ...(probed === undefined ? [] : [`no answer to a probe of ${probed.address}`]),
  ].join('; ');

const instanceOf = (uid: string, proofs: readonly Proof[]): InstanceSeen => ({
  uid,
  createdAt: undefined,
  ready: true,
  stamp: undefined,
  proofs,
});
