import { bundleKeyOf, notReadyIn, type Observation, readableCertificates } from '@handover/engine';
import type { Certificates } from './certificates.ts';
import { isForeign } from './resources.ts';

/**
 * When Ready is reported, every observed leaf must verify against every observed bundle, by their real certificates. The violation, or
 * undefined.
 */
export const readyButRefused = (certificates: Certificates, observation: Observation): string | undefined => {
  if (notReadyIn(observation).length > 0) return undefined;
  const { responsibilities, stored, now } = observation;
  const read = (object: string, key: string): readonly string[] =>
    readableCertificates(stored.get(object)?.data[key]).map(({ fingerprint }) => fingerprint);
  const own = [...responsibilities.leaves.keys(), ...responsibilities.bundles.keys()].filter(
    (id) => !isForeign(id),
  );
  const bundles = new Map(own.map((id) => [read(id, bundleKeyOf(id)).join(), id]));
  for (const leaf of responsibilities.leaves.keys()) {
    if (isForeign(leaf)) continue;
    const chain = read(leaf, 'tls.crt');
    if (chain.length === 0) return `Ready is said, and ${leaf} holds no leaf`;
    for (const [bundle, id] of bundles) {
      const verdict = certificates.verdict(chain, bundle.split(','), now);
      if (!verdict.ok) return `Ready is said, and ${id} refuses ${leaf}: ${verdict.reason}`;
    }
  }
  return undefined;
};
