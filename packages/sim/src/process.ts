import { type InstanceSeen, type Proof, type Stamp, withRole } from '@handover/core';
import type { Instant } from '@handover/material';
import type { Class } from './handshakes.ts';
import type { Content, SimulatedStore } from './store.ts';
import type { Traits } from './traits.ts';

/** One process of a consumer. */
export interface Process {
  readonly uid: string;
  readonly createdAt: Instant;
  readonly stamp: Stamp | undefined;
  ready: boolean;
  begun: boolean;
  leaving: boolean;
  ended: boolean;
  readonly loaded: Map<string, Content>;
  readonly reported: Map<string, Content>;
  readonly classes: Map<string, Class>;
  whenReady: (() => void) | undefined;
}

/** A status document names all trusted CAs; a canary shows only whether one CA is accepted. */
const shownTrust = (
  evidence: Traits['evidence'],
  { anchors }: Content,
  { state }: SimulatedStore,
): Pick<Proof, 'anchors' | 'complete' | 'refuses'> => {
  if (evidence === 'acknowledged') return { anchors, complete: true };
  const tried = state?.generations.flatMap((item) => item.anchors) ?? [];
  const refuses = tried.map((anchor) => anchor.fingerprint).filter((item) => !anchors.includes(item));
  return { anchors, refuses };
};

/** Whether it sends the cross-certificate of the CA that signs now, where there is one to see. */
const shownChain = (
  { chain = [], issuer }: Content,
  isStripped: boolean,
  { state }: SimulatedStore,
): Pick<Proof, 'chain'> => {
  const current = state && withRole(state, 'current');
  const cross = state?.crosses.find(({ of }) => of === current?.number);
  if (cross === undefined || issuer !== current?.anchors[0].fingerprint) return {};
  return { chain: !isStripped && chain.includes(cross.fingerprint) ? 'sends' : 'strips' };
};

/** A process as the home sees it. */
export const instanceOf = (
  { uid, createdAt, ready, stamp, reported }: Process,
  { evidence, verifies, presents, stripsCross }: Traits,
  store: SimulatedStore,
): InstanceSeen => {
  const proofs: Proof[] = [];
  if (evidence !== 'none') {
    for (const [object, content] of reported) {
      const leaf = presents.includes(object) ? content.chain?.[0] : undefined;
      proofs.push({
        by: evidence,
        object,
        at: createdAt,
        ...(verifies.includes(object) ? shownTrust(evidence, content, store) : {}),
        ...(leaf === undefined || content.issuer === undefined
          ? {}
          : { issuer: content.issuer, ...shownChain(content, stripsCross, store) }),
      });
    }
  }
  return { uid, createdAt, ready, stamp, proofs };
};
