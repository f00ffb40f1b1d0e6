import { API_VERSION, type Authority, type Leaf, parseResource, type TrustBundle } from '@handover/core';
import { type AuthorityId, type Labels, type ObjectId, ownLabels } from '@handover/engine';
import { duration } from '@handover/material';
import type { Setup } from './setup.ts';

/** The one authority of every world. */
export const SIMULATED_AUTHORITY: AuthorityId = 'sim/sim';
const NAMESPACE = 'sim';
/** Another owner's namespace, to which the bundle is written. */
const ELSEWHERES = 'elsewhere';
export const NAMESPACES: ReadonlyMap<string, Labels> = new Map(
  [NAMESPACE, ELSEWHERES].map((name) => [name, ownLabels(name)]),
);

export const secretId = (name: string): ObjectId => `${NAMESPACE}/secrets/${name}`;
/** An API field is another place that a bundle is written to. */
export const fieldId = (name: string): ObjectId => `${NAMESPACE}/configmaps/${name}/ca.crt`;
/** The Secret of a Leaf of another namespace. */
export const elsewhereSecretId = (name: string): ObjectId => `${ELSEWHERES}/secrets/${name}`;
export const isSecret = (id: ObjectId): boolean => id.split('/')[1] === 'secrets';
/** The authority's own bundle, for consumers without a bundle of their own. */
export const SHARED: ObjectId = `${NAMESPACE}/configmaps/trust/ca.crt`;
/** Of another namespace than the authority's. */
export const isForeign = (id: ObjectId): boolean => !id.startsWith(`${NAMESPACE}/`);
/** A forged Secret in another namespace. */
export const PLANTED: ObjectId = `${ELSEWHERES}/secrets/planted`;
export const ELSEWHERE: ObjectId = `${ELSEWHERES}/configmaps/trust/ca.crt`;

const nameOf = (id: ObjectId): string => id.split('/')[2] ?? id;
const namespaceOf = (id: ObjectId): string => id.split('/')[0] ?? id;
/** `namespace/name` of the Leaf that asks for a Secret. */
export const simulatedLeafId = (secret: ObjectId): string => `${namespaceOf(secret)}/${nameOf(secret)}`;

interface Samples {
  readonly authority: Authority;
  readonly leaf: Leaf;
}

let samples: Samples | undefined;

/** Parsed once, with every default filled in. */
const sampled = (): Samples => {
  if (samples !== undefined) return samples;
  const read = (kind: string, spec: object) =>
    parseResource({ apiVersion: API_VERSION, kind, metadata: { name: 'sim', namespace: NAMESPACE }, spec });
  const authority = read('Authority', {
    bundle: { configMapName: 'trust' },
    issueTo: { namespaceSelector: { matchLabels: ownLabels(ELSEWHERES) } },
  });
  const leaf = read('Leaf', { authority: 'sim', dnsNames: ['presenter.sim.svc'] });
  if (authority.kind !== 'Authority' || leaf.kind !== 'Leaf')
    throw new TypeError('not the kind that was given');
  samples = { authority, leaf };
  return samples;
};

/** `adopts`: fingerprints of the CAs that it adopts. */
export const authorityResource = ({ policy }: Setup, adopts: readonly string[] = []): Authority => {
  const { authority } = sampled();
  const { reloadWithin, onBlocked, patience, paused, maxConcurrentRollouts, strategy, lifetime } = policy;
  const rotation = { ...authority.spec.rotation, reloadWithin, onBlocked, patience, paused, strategy };
  return {
    ...authority,
    spec: {
      ...authority.spec,
      lifetime,
      rotation: { ...rotation, maxConcurrentRollouts },
      ...(adopts.length === 0 ? {} : { adopt: { fingerprints: [...adopts] } }),
    },
  };
};

export const leafResource = (setup: Setup, secret: ObjectId): Leaf => {
  const { leaf } = sampled();
  const name = nameOf(secret);
  const namespace = namespaceOf(secret);
  const dnsNames = [`presenter.${namespace}.svc`];
  return {
    ...leaf,
    metadata: { ...leaf.metadata, name, namespace },
    spec: {
      ...leaf.spec,
      authority: SIMULATED_AUTHORITY,
      dnsNames,
      secretName: name,
      lifetime: duration(setup.leafLifetime),
    },
  };
};

/** One TrustBundle for each object that is not the authority's own. */
export const bundleResource = (id: ObjectId): TrustBundle => {
  const [namespace = '', , name = ''] = id.split('/');
  const resource = parseResource({
    apiVersion: API_VERSION,
    kind: 'TrustBundle',
    metadata: { name: `${namespace}-${name}` },
    spec: {
      sources: [{ authority: SIMULATED_AUTHORITY }],
      targets: [
        {
          configMap: {
            name,
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
          },
        },
      ],
    },
  });
  if (resource.kind !== 'TrustBundle') throw new TypeError('not the kind that was given');
  return resource;
};
