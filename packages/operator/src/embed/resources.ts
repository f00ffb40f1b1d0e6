import { type Authority, type Leaf, parseResource, type TrustBundle } from '@handover/core';
import { HandoverError } from '@handover/material';
import type { FieldKind } from '../home/place.ts';

/** A CA of one's own: the fields of an Authority, beside its name. Durations as in YAML: `90d`, `36h`. */
export interface EmbedAuthority {
  readonly name: string;
  /** Default: the namespace of the pod, or of the kubeconfig's context. */
  readonly namespace?: string;
  readonly key?: string;
  readonly lifetime?: string;
  readonly rotation?: {
    readonly at?: string;
    readonly before?: string;
    readonly strategy?: 'Phased' | 'Instant';
    readonly settle?: string;
    readonly paused?: boolean;
  };
  readonly bundle?: { readonly configMapName?: string };
}

/** The server's certificate: the fields of a Leaf, beside its name. */
export interface EmbedLeaf {
  readonly name: string;
  readonly namespace?: string;
  /** Default: its name. */
  readonly secretName?: string;
  readonly key?: string;
  readonly subject?: { readonly commonName?: string; readonly organizations?: readonly string[] };
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly uris?: readonly string[];
  readonly usages?: readonly ('server' | 'client')[];
  readonly lifetime?: string;
  readonly renew?: { readonly at?: string };
}

/** An object of the API server whose caBundle is kept. */
export interface EmbedInjection {
  readonly kind: FieldKind;
  readonly name: string;
  /** Names of the webhooks; default: all of them. */
  readonly webhooks?: readonly string[];
}

export interface EmbedSpec {
  readonly authority: EmbedAuthority;
  readonly leaf: EmbedLeaf;
  readonly inject: readonly EmbedInjection[];
}

export interface OwnResources {
  readonly authority: Authority;
  readonly leaf: Leaf;
  readonly bundle: TrustBundle;
}

const API_VERSION = 'handover.dev/v1alpha1';

/** What somebody asked for as resources, checked by the very same rules as YAML. */
export const ownResources = ({ authority, leaf, inject }: EmbedSpec, own: string): OwnResources => {
  if (inject.length === 0)
    throw new HandoverError(
      'OPTION_INVALID',
      'embed: inject names no object; name the webhook configuration, APIService or CRD that this server is behind',
    );
  const { name, namespace = own, ...authoritySpec } = authority;
  const { name: leafName, namespace: leafNamespace = namespace, ...leafSpec } = leaf;
  const parse = (kind: string, metadata: object, spec: object): unknown =>
    parseResource({ apiVersion: API_VERSION, kind, metadata, spec }, `embed: ${kind}`);
  return {
    authority: parse('Authority', { name, namespace }, authoritySpec) as Authority,
    leaf: parse(
      'Leaf',
      { name: leafName, namespace: leafNamespace },
      { usages: ['server'], ...leafSpec, authority: `${namespace}/${name}` },
    ) as Leaf,
    bundle: parse(
      'TrustBundle',
      { name },
      {
        sources: [{ authority: `${namespace}/${name}` }],
        targets: inject.map((target) => ({ inject: target })),
      },
    ) as TrustBundle,
  };
};
