import type { ForeignBundleSource, ForeignBundleSpec } from '@handover/core';
import type { Selector } from '@handover/engine';
import { type Certificate, HandoverError } from '@handover/material';
import { isCode, OperatorError } from '../../error.ts';
import type { DefaultCasState } from './default-cas.ts';
import { certificatesIn, type Pool, poolOf } from './pool.ts';

export type SourceKind = 'ConfigMap' | 'Secret';

/** A ConfigMap or Secret of the trust namespace. */
export interface SourceObject {
  readonly kind: SourceKind;
  /** `namespace/name`. */
  readonly id: string;
  readonly type?: string | undefined;
  readonly data: ReadonlyMap<string, Uint8Array>;
}

/** What a Bundle may read: objects of the trust namespace, and nothing elsewhere. */
export interface Sources {
  readonly namespace: string;
  named(kind: SourceKind, name: string): Promise<SourceObject | undefined>;
  /** In the order of their names. */
  selected(kind: SourceKind, selector: Selector): Promise<readonly SourceObject[]>;
  readonly defaultCas: DefaultCasState;
}

/** A Bundle's certificates, or why there are none: the reason is trust-manager's word for it. */
export type Built =
  | { readonly pool: Pool; readonly defaultCaVersion: string | undefined }
  | { readonly reason: 'SourceNotFound' | 'SourceBuildError'; readonly message: string };

/** All that the sources of one Bundle may hold together. Its targets have room for about one MiB. */
const MOST_CERTIFICATES = 10_000;

const missing = (what: string): never => {
  throw new OperatorError('SOURCE_MISSING', what);
};

const ofObject = (
  { kind, id, type, data }: SourceObject,
  key: string | undefined,
): readonly Certificate[] => {
  if (key !== undefined) {
    const value = data.get(key) ?? missing(`${kind} ${id} has no key "${key}"`);
    return certificatesIn(value, `${kind} ${id}, key "${key}"`);
  }
  // Its private key stands beside the certificate.
  if (type === 'kubernetes.io/tls')
    throw new OperatorError(
      'OPTION_INVALID',
      `Secret ${id} is of type kubernetes.io/tls, of which not all keys can be included; name one key`,
    );
  return [...data].flatMap(([name, value]) => certificatesIn(value, `${kind} ${id}, key "${name}"`));
};

const ofReference = async (
  kind: SourceKind,
  { name, selector, key }: NonNullable<ForeignBundleSource['configMap']>,
  from: Sources,
): Promise<readonly Certificate[]> => {
  if (name === undefined)
    return (await from.selected(kind, selector ?? {})).flatMap((object) => ofObject(object, key));
  const object =
    (await from.named(kind, name)) ?? missing(`${kind} ${from.namespace}/${name} does not exist`);
  return ofObject(object, key);
};

const ofSource = async (
  { configMap, secret, inLine, useDefaultCAs }: ForeignBundleSource,
  from: Sources,
): Promise<readonly Certificate[]> => {
  if (configMap !== undefined) return ofReference('ConfigMap', configMap, from);
  if (secret !== undefined) return ofReference('Secret', secret, from);
  if (inLine !== undefined) return certificatesIn(inLine, 'inLine');
  if (useDefaultCAs !== true) return [];
  const { defaultCas } = from;
  return 'why' in defaultCas
    ? missing(`useDefaultCAs needs default CAs: ${defaultCas.why}`)
    : defaultCas.certificates;
};

/** All sources, or none of them: a bundle that lost a CA to a damaged source would cut off its consumers. */
export const build = async ({ sources }: ForeignBundleSpec, from: Sources): Promise<Built> => {
  try {
    const found: Certificate[] = [];
    for (const source of sources) {
      found.push(...(await ofSource(source, from)));
      if (found.length > MOST_CERTIFICATES)
        throw new OperatorError(
          'OPTION_INVALID',
          `more than ${MOST_CERTIFICATES} certificates; use fewer sources`,
        );
    }
    if (found.length === 0) missing('no source holds a certificate');
    const asked = sources.some(({ useDefaultCAs }) => useDefaultCAs === true);
    const { defaultCas } = from;
    return {
      pool: poolOf(found),
      defaultCaVersion: asked && 'version' in defaultCas ? defaultCas.version : undefined,
    };
  } catch (error) {
    // The API server's own trouble is no fault of the sources.
    if (!(error instanceof HandoverError) || error.code.startsWith('KUBE_')) throw error;
    const reason = isCode(error, 'SOURCE_MISSING') ? 'SourceNotFound' : 'SourceBuildError';
    return { reason, message: error.message };
  }
};
