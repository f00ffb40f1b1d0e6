import { generationOf, type TrustBundle } from '@handover/core';
import { type Certificate, HandoverError, parseBundle } from '@handover/material';
import { authorityRef, type Catalogue } from './catalogue.ts';
import { bundlesWith, type Extras } from './policy-for.ts';
import type { AuthorityId, AuthorityRecord, Home } from './ports.ts';

/** CAs that belong into every bundle of an authority, newest generation first. */
export const trustedOf = ({ state, certificates }: AuthorityRecord): readonly Certificate[] =>
  state.generations
    .filter((generation) => generationOf(state, generation.number)?.role !== 'distrusted')
    .flatMap((generation) => generation.anchors)
    .flatMap((anchor) => certificates.get(anchor.fingerprint) ?? []);

/** The certificates of a bundle whose source is no authority; refuses what is not a plain list of certificates. */
const foreign = async (
  home: Home,
  source: TrustBundle['spec']['sources'][number],
): Promise<readonly Certificate[]> => {
  if (source.inline !== undefined) return parseBundle(source.inline, 'inline source').certificates;
  const data = source.secret ?? source.configMap;
  if (data === undefined) return [];
  const folder = source.secret === undefined ? 'configmaps' : 'secrets';
  // A name with its namespace is ours to make, never a person's: their sources lie in the one trust namespace.
  const [namespace, name] = data.name.includes('/')
    ? data.name.split('/')
    : [home.facts.trustNamespace, data.name];
  const id = `${namespace}/${folder}/${name}/${data.key}`;
  const stored = await home.objects.read(id);
  const pem = stored?.data[data.key];
  if (pem === undefined)
    throw new HandoverError(
      'SOURCE_MISSING',
      `source ${id} ${stored?.obstacle === undefined ? 'does not exist' : `cannot be used: ${stored.obstacle}`}`,
      { path: id },
    );
  return parseBundle(pem, id).certificates;
};

/** What a TrustBundle holds beside the CAs of `own`. A source that cannot be read holds the bundle as it is. */
export const extrasOf = async (
  home: Home,
  bundle: TrustBundle,
  own: AuthorityId | undefined,
): Promise<Extras> => {
  const ofAuthorities: Certificate[] = [];
  const others: Certificate[] = [];
  let leading = 0;
  let missing: string | undefined;
  for (const source of bundle.spec.sources) {
    if (source.authority !== undefined) {
      const id = authorityRef(source.authority, 'default');
      if (id === own) {
        leading = ofAuthorities.length;
        continue;
      }
      const record = await home.authorities.load(id);
      if (record !== undefined) ofAuthorities.push(...trustedOf(record));
      continue;
    }
    try {
      others.push(...(await foreign(home, source)));
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      missing = error.message;
    }
  }
  return { certificates: [...ofAuthorities, ...others], leading, missing };
};

export const extrasFor = async (
  home: Home,
  catalogue: Catalogue,
  id: AuthorityId,
): Promise<ReadonlyMap<string, Extras>> => {
  const extras = new Map<string, Extras>();
  for (const bundle of bundlesWith(catalogue, id)) {
    extras.set(bundle.metadata.name, await extrasOf(home, bundle, id));
  }
  return extras;
};
