import type { ConsumerSeen, InstanceSeen } from '@handover/core';
import { type Instant, instant } from '@handover/material';
import { FairSemaphore } from '../scheduling/fair-semaphore.ts';
import { liesElsewhere, ownBundleOf } from '../snapshot/catalogue.ts';
import { LOOK_LASTS, within } from '../snapshot/deadlines.ts';
import type { AuthorityRecord, ObjectId } from '../snapshot/home.ts';
import type { Responsibilities } from '../snapshot/responsibilities.ts';
import type { EvidenceSource, IssuedLeaves } from '../snapshot/snapshot.ts';
import { askProcess, type ProcessShown, silent } from './ask.ts';
import { expectedLeaf, otherLeafThan } from './expected-leaf.ts';
import { LatelyAsked } from './lately-asked.ts';
import type { ProbeTools } from './probe.ts';
import type { Issued } from './read-document.ts';
import { instanceKey, type RememberedInstances, withTrustOf } from './remembered.ts';
import { FirstServed } from './served.ts';
import { Wavering } from './wavering.ts';
import { type DeclaredConsumer, isAsked, type Locator } from './whereabouts.ts';

/** Stands for other programs that may present a Secret. */
const presentersOf = (object: ObjectId, responsibilities: Responsibilities): ConsumerSeen => ({
  id: `servers that present ${object}`,
  reload: 'unknown',
  ownersWord: true,
  blocks: !liesElsewhere(object, responsibilities),
  presents: [object],
  verifies: [],
  instances: [],
  workload: undefined,
});

const presentedBy = (responsibilities: Responsibilities, consumer: DeclaredConsumer): readonly ObjectId[] => {
  if (!consumer.presents) return [];
  const expected = expectedLeaf(responsibilities, consumer);
  if (expected === undefined) return [...responsibilities.leaves.keys()];
  return expected.object === undefined ? [] : [expected.object];
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

/** Consumers asked at once, in all and of one share: of a namespace, or of an authority where all namespaces have one owner. */
const PLACES = { inAll: 256, each: 32 } as const;
/** When one look stops asking: a consumer not asked by then counts as silent, and the next look asks it. */
const ASKS_MS = 15_000;
const LATE = `it did not answer within ${LOOK_LASTS.consumersMs / 1_000} s; the next look asks it`;

type Shown = Pick<ConsumerSeen, 'instances'>;

/** The consumers that an Authority declares, with what each of them shows right now. */
export class DeclaredConsumers implements EvidenceSource {
  readonly #tools: ProbeTools;
  readonly #locator: Locator;
  readonly #semaphore: FairSemaphore;
  readonly #remembered: RememberedInstances | undefined;
  readonly #wavering = new Wavering();
  readonly #served = new FirstServed();
  readonly #lately = new LatelyAsked();

  /** `remembered`: what the process that works here saw. */
  constructor(tools: ProbeTools, locator: Locator, remembered?: RememberedInstances) {
    this.#remembered = remembered;
    this.#tools = tools;
    this.#locator = locator;
    this.#semaphore = tools.semaphore ?? new FairSemaphore(PLACES);
  }

  async consumers(
    responsibilities: Responsibilities,
    record: AuthorityRecord | undefined,
    now: Instant,
    { issuers }: IssuedLeaves,
  ): Promise<readonly ConsumerSeen[]> {
    const declared = responsibilities.authority.spec.consumers;
    const locate = this.#locator(responsibilities);
    const { clock } = this.#tools;
    const until = clock.monotonic() + ASKS_MS;
    const seen = await Promise.all(
      declared.map(async (consumer): Promise<ConsumerSeen> => {
        const shown = await within(
          clock,
          LOOK_LASTS.consumersMs,
          this.#look(responsibilities, consumer, locate, record && { record, now, issuers }, until),
          () => this.#alone(responsibilities, consumer, silent(LATE, now, 'timeout')),
        );
        const expects = expectedLeaf(responsibilities, consumer);
        return {
          id: consumer.name,
          reload: consumer.reload ?? 'unknown',
          ownersWord: consumer.reload === 'hot',
          blocks: true,
          presents: presentedBy(responsibilities, consumer),
          verifies: verifiedBy(responsibilities, consumer),
          workload: undefined,
          ...(expects === undefined ? {} : { expects }),
          ...shown,
        };
      }),
    );
    const lately = this.#lately.begin(responsibilities.id, this.#remembered?.of(responsibilities.id), {
      presents: [...responsibilities.leaves.keys()],
      verifies: [ownBundleOf(responsibilities.authority)],
    });
    const { reloadWithin } = responsibilities.authority.spec.rotation;
    const others = this.#lately.others(lately, seen, reloadWithin, now);
    // At rest no step waits for a consumer.
    if ((record?.state.generations.length ?? 0) > 1) seen.push(...others);
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

  /** A consumer of which nothing is known but this. */
  #alone({ id }: Responsibilities, { name }: DeclaredConsumer, shown: ProcessShown): Shown {
    const before = this.#remembered?.of(id).get(instanceKey(name, name));
    return { instances: [instanceOf(name, this.#dated(`${id} ${name} 0`, shown, before))] };
  }

  #dated(process: string, shown: ProcessShown, before: InstanceSeen | undefined): ProcessShown {
    const { served } = shown;
    return served === undefined
      ? shown
      : { ...shown, served: this.#served.since(process, served, before?.served) };
  }

  async #look(
    responsibilities: Responsibilities,
    consumer: DeclaredConsumer,
    locate: ReturnType<Locator>,
    issued: Issued | undefined,
    until: number,
  ): Promise<Shown> {
    const { name } = consumer;
    if (!isAsked(consumer)) return { instances: [] };
    if (issued === undefined)
      return {
        instances: [instanceOf(name, silent('the authority does not exist yet', instant(0), 'pending'))],
      };
    const found = await locate(consumer);
    if ('refused' in found)
      return this.#alone(responsibilities, consumer, silent(found.refused, issued.now, 'not-asked'));
    const { id, authority, oneOwner } = responsibilities;
    const share = oneOwner ? id : authority.metadata.namespace;
    const otherLeaf = otherLeafThan(responsibilities, expectedLeaf(responsibilities, consumer));
    const { clock } = this.#tools;
    const { reloadWithin } = authority.spec.rotation;
    const remembered = this.#remembered?.of(id);
    const instances = await Promise.all(
      found.endpoints.map(async (endpoint, index) => {
        const one = await this.#semaphore.take(share, async () =>
          clock.monotonic() < until
            ? askProcess(endpoint, { ...issued, authority: id, otherLeaf }, this.#tools)
            : silent('it was not asked in time; the next look asks it', issued.now, 'timeout'),
        );
        const key = `${id} ${name} ${endpoint.uid ?? index}`;
        const weighed = this.#wavering.weigh(key, one, issued.record, reloadWithin, clock.monotonic());
        const uid = endpoint.uid ?? (one.pid === undefined ? name : `${name}#${one.pid}`);
        const before = remembered?.get(instanceKey(name, uid));
        const dated = this.#dated(key, weighed, before);
        const asksTrust = endpoint.probe?.mtls !== true || this.#tools.canaries.mayIssue;
        return instanceOf(uid, asksTrust ? dated : withTrustOf(dated, before));
      }),
    );
    return { instances };
  }
}

const instanceOf = (uid: string, { proofs, unread, served }: ProcessShown): InstanceSeen => ({
  uid,
  createdAt: undefined,
  ready: true,
  stamp: undefined,
  proofs,
  unread,
  ...(served === undefined ? {} : { served }),
});
