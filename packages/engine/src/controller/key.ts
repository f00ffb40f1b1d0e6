import { isStatic } from '../act/static-bundle.ts';
import { type Catalogue, idOf } from '../snapshot/catalogue.ts';

interface Of<Kind extends string> {
  readonly kind: Kind;
  /** `namespace/name`; of a TrustBundle its name. */
  readonly id: string;
}

/** A resource that is reconciled. */
export type ResourceKey = Of<'Authority'> | Of<'TrustBundle'> | Of<'TLSProfile'>;

/** What one pass is about. */
export type Key =
  | ResourceKey
  /** A PodCertificateRequest, which is answered once. */
  | Of<'PodCertificate'>
  /** A leaf that another program asks for. */
  | Of<'CertificateRequest'>
  /** Facts about the platform, in every namespace that asks for them. */
  | { readonly kind: 'Platform' }
  /** Reading the resources again. */
  | { readonly kind: 'Resources' }
  /** Single bundles of a resource at rest. */
  | { readonly kind: 'Drift'; readonly of: ResourceKey };

export const RESOURCES = { kind: 'Resources' } as const satisfies Key;
export const PLATFORM = { kind: 'Platform' } as const satisfies Key;

/** The same text for the same work, as logs show it. */
export const keyText = (key: Key): string => {
  switch (key.kind) {
    case 'Drift':
      return `drift under ${keyText(key.of)}`;
    case 'Platform':
      return 'platform facts';
    case 'Resources':
      return 'resources';
    default:
      return `${key.kind} ${key.id}`;
  }
};

/** Work that must not run side by side: of one authority, of one profile, of bundles without an authority. */
export const laneOf = (key: Key): string => {
  if (key.kind === 'Drift') return laneOf(key.of);
  return key.kind === 'TrustBundle' || key.kind === 'Platform' ? 'cluster' : keyText(key);
};

/** On whose account work is done: a namespace, or the cluster. */
export const shareOf = (key: Key): string => {
  if (key.kind === 'Drift') return shareOf(key.of);
  // Pods wait for it to start, and a pass over an authority may wait for pods.
  if (key.kind === 'PodCertificate') return `pods of ${key.id.split('/', 1)[0]}`;
  const isNamespaced =
    key.kind === 'Authority' || key.kind === 'TLSProfile' || key.kind === 'CertificateRequest';
  return isNamespaced ? `namespace ${key.id.split('/', 1)[0]}` : laneOf(key);
};

/** Every resource that needs passes of its own. */
export const keysOf = ({ tlsProfiles, trustBundles, authorities }: Catalogue): readonly ResourceKey[] => [
  ...tlsProfiles.map((profile) => ({ kind: 'TLSProfile', id: idOf(profile) }) as const),
  ...trustBundles
    .filter(isStatic)
    .map(({ metadata }) => ({ kind: 'TrustBundle', id: metadata.name }) as const),
  ...[...authorities.keys()].map((id) => ({ kind: 'Authority', id }) as const),
];
