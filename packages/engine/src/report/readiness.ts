import { type NotReady, notReady } from '@handover/core';
import type { Observation } from '../observe/observe.ts';
import type { ObjectId } from '../snapshot/home.ts';
import { bundleKeyOf, readableCertificates } from '../snapshot/stored-object.ts';
import { damageOf } from './damage.ts';
import { answer, type Verdicts } from './verify.ts';

/** Why an authority is not Ready; empty: every leaf that it vouches for verifies now. */
export const notReadyIn = (observation: Observation): readonly NotReady[] => {
  const { seen, responsibilities, stored, now } = observation;
  const verdicts: Verdicts = new Map();
  const refusal = (leaf: ObjectId, bundle: ObjectId): string | undefined => {
    const chain = readableCertificates(stored.get(leaf)?.data['tls.crt']);
    const anchors = readableCertificates(stored.get(bundle)?.data[bundleKeyOf(bundle)]);
    if (chain.length === 0) return 'its certificates cannot be read';
    const purposes = responsibilities.leaves.get(leaf)?.spec.usages ?? ['server'];
    const { ok, reason } = answer(verdicts, chain, anchors, purposes, now);
    return ok ? undefined : (reason ?? 'its chain does not verify');
  };
  const lacking = (object: ObjectId): readonly string[] => damageOf(observation, object);
  return notReady(seen, responsibilities.policy, now, refusal, lacking);
};
