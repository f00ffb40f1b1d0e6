import type { ConsumerSeen, InstanceSeen, Proof } from '@handover/core';
import type { Instant } from '@handover/material';
import { authorityRef, ownBundleOf, secretOf } from '../catalogue.ts';
import type { Duties } from '../policy-for.ts';
import type { AuthorityRecord, EvidenceSource, ObjectId } from '../ports.ts';
import { answerOf, type ProbeTools, probe } from './probe.ts';
import { askStatus } from './status-document.ts';

type Declared = Duties['authority']['spec']['consumers'][number];

/**
 * Says no to every question: for a consumer that could show what it has loaded and does not. It holds the next step up, by
 * name; time alone does not stand for it.
 */
const silence = (at: Instant): Proof => ({
  by: 'acknowledged',
  anchors: [],
  complete: true,
  issuer: 'unknown',
  at,
});

/** Stands for whoever else presents a Secret of which nobody is known to be the only user. */
const somebody = (object: ObjectId): ConsumerSeen => ({
  id: `whoever presents ${object}`,
  reload: 'unknown',
  ownersWord: true,
  blocks: true,
  presents: [object],
  verifies: [],
  stripsCross: false,
  instances: [],
  workload: undefined,
});

const presentedBy = (duties: Duties, consumer: Declared): readonly ObjectId[] => {
  if (!consumer.presents) return [];
  if (consumer.leaf === undefined) return [...duties.leaves.keys()];
  const wanted = authorityRef(consumer.leaf, duties.authority.metadata.namespace);
  return [...duties.leaves.values()]
    .filter((leaf) => `${leaf.metadata.namespace}/${leaf.metadata.name}` === wanted)
    .map(secretOf);
};

const verifiedBy = (duties: Duties, consumer: Declared): readonly ObjectId[] => {
  if (!consumer.verifies) return [];
  const bundle = consumer.bundle === undefined ? undefined : duties.targets.get(consumer.bundle);
  // Whoever has a leaf has the ca.crt beside it; nobody else is known to read that.
  return [...(bundle ?? [ownBundleOf(duties.authority)]), ...presentedBy(duties, consumer)];
};

/** The consumers that an Authority declares, with what each of them shows right now. */
export class DeclaredConsumers implements EvidenceSource {
  readonly #tools: ProbeTools;

  constructor(tools: ProbeTools) {
    this.#tools = tools;
  }

  async consumers(
    duties: Duties,
    record: AuthorityRecord | undefined,
    now: Instant,
  ): Promise<readonly ConsumerSeen[]> {
    const declared = duties.authority.spec.consumers;
    const seen = await Promise.all(declared.map((consumer) => this.#look(duties, consumer, record, now)));
    // A consumer that does not say which leaf it presents must not speak for all of them.
    const vague =
      declared.some(({ presents, leaf }) => presents && leaf === undefined) && duties.leaves.size > 1;
    return vague ? [...seen, ...[...duties.leaves.keys()].map(somebody)] : seen;
  }

  async #look(
    duties: Duties,
    consumer: Declared,
    record: AuthorityRecord | undefined,
    now: Instant,
  ): Promise<ConsumerSeen> {
    const proofs: Proof[] = [];
    let uid = consumer.name;
    let stripsCross = false;
    if (record !== undefined && consumer.status !== undefined) {
      const said = await askStatus(consumer.status, record, now);
      this.#tools.meters?.asked('status', said === undefined ? 'silent' : 'shown');
      if (said !== undefined) {
        proofs.push(said.proof);
        uid = `${consumer.name}#${said.pid}`;
      }
    }
    if (record !== undefined && consumer.probe !== undefined) {
      const shown = await probe({ ...consumer.probe, authority: duties.id }, record, this.#tools, now);
      this.#tools.meters?.asked('probe', answerOf(shown));
      proofs.push(...(shown?.proofs ?? []));
      stripsCross = shown?.stripsCross ?? false;
      // It answers, and cannot show what it trusts: that rests on its owner's word.
      if (shown !== undefined && proofs.length === 0) proofs.push({ by: 'probed', at: now });
    }
    const canShow = consumer.status !== undefined || consumer.probe !== undefined;
    if (canShow && proofs.length === 0) proofs.push(silence(now));
    const instance: InstanceSeen = { uid, createdAt: undefined, ready: true, stamp: undefined, proofs };
    return {
      id: consumer.name,
      reload: consumer.reload ?? 'unknown',
      ownersWord: consumer.reload === 'hot',
      blocks: true,
      presents: presentedBy(duties, consumer),
      verifies: verifiedBy(duties, consumer),
      stripsCross,
      instances: canShow ? [instance] : [],
      workload: undefined,
    };
  }
}
