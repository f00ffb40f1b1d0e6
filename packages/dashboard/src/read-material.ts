import {
  answer,
  bundleKeyOf,
  certificatesKey,
  type Material,
  materialIn,
  type Observation,
  readableCertificates,
  type Verdicts,
} from '@handover/engine';

/** Work with leases and deadlines in the same thread waits no longer than this. */
const TURN_MS = 10;

/** Yields to other work after each turn. */
const turns = (): (() => Promise<void>) => {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < TURN_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    began = performance.now();
  };
};

/**
 * What the objects of an observation hold, with a verdict on each chain against each distinct bundle. A thousand new leaves take a
 * while to parse and verify, so other work runs in between. Results are kept for the next time.
 */
export async function readMaterial(observation: Observation, verdicts: Verdicts): Promise<Material> {
  const turn = turns();
  for (const [id, { data }] of observation.stored) {
    readableCertificates(data['tls.crt']);
    readableCertificates(data[bundleKeyOf(id)]);
    await turn();
  }
  const material = materialIn(observation);
  const distinct = new Map([...material.bundles.values()].map((bundle) => [certificatesKey(bundle), bundle]));
  for (const [object, chain] of material.chains) {
    for (const bundle of distinct.values()) {
      answer(verdicts, chain, bundle, material.purposes.get(object) ?? ['server'], observation.now);
      await turn();
    }
  }
  return material;
}
