import { Contended, MOST_NAMED, type TrustBundle } from '@handover/core';
import { bundleKeyOf, extrasOf, readableCertificates, targetsOf } from '@handover/engine';
import { bundleOf } from '@handover/material';
import type { KubeHome } from '../home/home.ts';
import type { Declared } from '../resources/declared.ts';
import type { Absent, ResolvedResources } from '../resources/resolved-resources.ts';
import { type AnyStatus, conditionsOf, type Verdict, verdict } from './status.ts';

/** What is wrong with a source that is no Authority; then the targets stay as they are. */
const missingOf = async (home: KubeHome, bundle: TrustBundle): Promise<string | undefined> => {
  const sources = bundle.spec.sources.filter(({ authority }) => authority === undefined);
  if (sources.length === 0) return undefined;
  const { missing } = await extrasOf(
    await home.cached(),
    { ...bundle, spec: { ...bundle.spec, sources } },
    undefined,
  );
  return missing;
};

const readiness = (missing: string | undefined, failing: readonly Absent[], ready: number): Verdict => {
  if (missing !== undefined)
    return verdict('Ready', false, 'SourceMissing', `${missing}; the targets stay as they are`);
  const [first] = failing;
  if (first === undefined)
    return verdict(
      'Ready',
      true,
      'Written',
      ready === 1 ? 'the target holds the bundle' : `all ${ready} targets hold the bundle`,
    );
  return verdict(
    'Ready',
    false,
    'TargetsFailing',
    `${failing.length} of ${failing.length + ready} targets failed, such as ${first.target}: ${first.why}`,
  );
};

/** Status of a TrustBundle: how many of its targets hold something, and which cannot be written. */
export const statusOfBundle = async (
  home: KubeHome,
  resolved: ResolvedResources,
  declared: Declared,
  bundle: TrustBundle,
): Promise<AnyStatus> => {
  const { catalogue } = resolved;
  const failing = [...(resolved.absent.get(bundle.metadata.name) ?? [])];
  const contended: string[] = [];
  let ready = 0;
  let sample: Uint8Array | undefined;
  for (const id of targetsOf(bundle, catalogue)) {
    const stored = await home.cachedObjects.read(id);
    const refused = stored === undefined ? home.store.obstacles.last(id) : undefined;
    if (refused !== undefined) failing.push({ target: id, why: refused });
    else if (stored?.obstacle !== undefined) {
      failing.push({ target: id, why: String(stored.obstacle) });
      if (stored.obstacle instanceof Contended) contended.push(`${id}: ${stored.obstacle}`);
    } else if (stored?.record === undefined) failing.push({ target: id, why: 'not written yet' });
    else {
      ready++;
      sample ??= stored.data[bundleKeyOf(id)] ?? Object.values(stored.data)[0];
    }
  }
  const certificates = readableCertificates(sample);
  const verdicts = [
    readiness(await missingOf(home, bundle), failing, ready),
    ...(contended.length === 0
      ? []
      : [verdict('Contended', true, 'ForeignManager', contended.slice(0, 3).join('; '))]),
  ];
  return {
    observedGeneration: declared.generation,
    ...(certificates.length === 0
      ? {}
      : { hash: bundleOf(certificates).hash, certificates: certificates.length }),
    targets: { ready, failing: failing.length },
    failing: failing.slice(0, MOST_NAMED).map(({ target, why }) => ({ target, why: why.slice(0, 1_000) })),
    conditions: conditionsOf(declared, verdicts, home.clock.now()),
  };
};
