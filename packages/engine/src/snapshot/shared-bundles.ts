import { generationOf, type TrustBundle } from '@handover/core';
import { type Certificate, HandoverError, parseBundle } from '@handover/material';
import { EngineError } from '../error.ts';
import { authorityRef } from './catalogue.ts';
import type { AuthorityId, AuthorityRecord, ObjectId, StoredObject } from './home.ts';
import { anchorOf, bundlesWith, type Extras, type Responsibilities } from './responsibilities.ts';
import type { SealKey } from './seal.ts';
import type { Snapshot } from './snapshot.ts';
import { bundleKeyOf, readableCertificates } from './stored-object.ts';

/** CAs that belong into every bundle of an authority, newest generation first. */
export const trustedOf = ({ state, certificates }: AuthorityRecord): readonly Certificate[] =>
  state.generations
    .filter((generation) => generationOf(state, generation.number)?.role !== 'distrusted')
    .flatMap((generation) => generation.anchors)
    .flatMap((anchor) => certificates.get(anchor.fingerprint) ?? []);

const defaultCasOf = ({ facts }: Snapshot): readonly Certificate[] => {
  const found = facts.defaultCas?.() ?? { why: 'only an operator with --default-cas has them' };
  if ('why' in found) throw new EngineError('SOURCE_MISSING', `source defaultCas: ${found.why}`);
  return found;
};

const noneSelected = ({ facts }: Snapshot, folder: string): Error =>
  new EngineError(
    'SOURCE_MISSING',
    facts.selectsSources === true
      ? `source with a selector: none of the ${folder} in ${facts.trustNamespace} has these labels`
      : 'source with a selector: only an operator with custom resources selects by labels; give name instead',
  );

/** The certificates of a bundle whose source is no authority; refuses what is not a plain list of certificates. */
const foreign = async (
  snapshot: Snapshot,
  source: TrustBundle['spec']['sources'][number],
): Promise<readonly Certificate[]> => {
  if (source.inline !== undefined) return parseBundle(source.inline, 'inline source').certificates;
  if (source.defaultCas !== undefined) return defaultCasOf(snapshot);
  const data = source.secret ?? source.configMap;
  if (data === undefined) return [];
  const folder = source.secret === undefined ? 'configmaps' : 'secrets';
  if (data.name === undefined) throw noneSelected(snapshot, folder);
  // A name with its namespace is ours to make, never a person's: their sources lie in the one trust namespace.
  const [namespace, name] = data.name.includes('/')
    ? data.name.split('/')
    : [snapshot.facts.trustNamespace, data.name];
  const id = `${namespace}/${folder}/${name}/${data.key}`;
  const stored = await snapshot.objects.read(id);
  const pem = stored?.data[data.key];
  if (pem === undefined)
    throw new EngineError(
      'SOURCE_MISSING',
      `source ${id} ${stored?.obstacle === undefined ? 'does not exist' : `cannot be used: ${stored.obstacle}`}`,
      { path: id },
    );
  return parseBundle(pem, id).certificates;
};

/** A state that cannot be read is its own authority's trouble, and no other's. */
const stateOf = async (snapshot: Snapshot, id: AuthorityId): Promise<AuthorityRecord | undefined> => {
  try {
    return await snapshot.authorities.load(id);
  } catch (error) {
    if (error instanceof HandoverError && error.code.startsWith('STATE_')) return undefined;
    throw error;
  }
};

/** What a TrustBundle holds beside the CAs of `own`. A source that cannot be read holds the bundle as it is. */
export const extrasOf = async (
  snapshot: Snapshot,
  bundle: TrustBundle,
  own: AuthorityId | undefined,
): Promise<Extras> => {
  const ofAuthorities: Certificate[] = [];
  const others: Certificate[] = [];
  const known = new Map<AuthorityId, readonly Certificate[] | undefined>();
  const sealKeys = new Map<AuthorityId, SealKey>();
  let leading = 0;
  let missing: string | undefined;
  for (const source of bundle.spec.sources) {
    if (source.authority !== undefined) {
      const id = authorityRef(source.authority, 'default');
      if (id === own) {
        leading = ofAuthorities.length;
        continue;
      }
      const record = await stateOf(snapshot, id);
      const trusted = record === undefined ? undefined : trustedOf(record);
      known.set(id, trusted);
      if (record !== undefined) sealKeys.set(id, record.sealKey);
      ofAuthorities.push(...(trusted ?? []));
      continue;
    }
    try {
      others.push(...(await foreign(snapshot, source)));
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      missing = error.message;
    }
  }
  return { certificates: [...ofAuthorities, ...others], leading, missing, others: known, sealKeys };
};

export const extrasFor = async (
  snapshot: Snapshot,
  id: AuthorityId,
): Promise<ReadonlyMap<string, Extras>> => {
  const extras = new Map<string, Extras>();
  for (const bundle of bundlesWith(snapshot.catalogue, id))
    extras.set(bundle.metadata.name, await extrasOf(snapshot, bundle, id));
  return extras;
};

/**
 * The same duties, where an object goes on holding what it held of an authority whose state is gone or cannot be read: its peers still
 * use these CAs, and its owner has not decided about them yet.
 */
export const keepingUnknown = (
  responsibilities: Responsibilities,
  stored: ReadonlyMap<ObjectId, StoredObject>,
): Responsibilities => {
  const bundles = new Map(responsibilities.bundles);
  for (const [object, extras] of responsibilities.bundles) {
    const found = stored.get(object);
    const kept = new Map<AuthorityId, readonly Certificate[]>();
    for (const [id, certificates] of extras.others) {
      const before = certificates === undefined ? found?.record?.sources?.[id]?.anchors : undefined;
      if (before === undefined) continue;
      const held = readableCertificates(found?.data[bundleKeyOf(object)]);
      kept.set(
        id,
        held.filter(({ fingerprint }) => before.includes(fingerprint)),
      );
    }
    if (kept.size === 0) continue;
    bundles.set(object, {
      ...extras,
      certificates: [...extras.certificates, ...[...kept.values()].flat()],
      others: new Map([...extras.others, ...kept]),
    });
  }
  const policy = responsibilities.policy.bundles.map((bundle) => ({
    ...bundle,
    extra: bundles.get(bundle.object)?.certificates.map(anchorOf) ?? bundle.extra,
  }));
  return { ...responsibilities, bundles, policy: { ...responsibilities.policy, bundles: policy } };
};
