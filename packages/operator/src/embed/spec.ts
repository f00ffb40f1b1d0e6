import type { InjectableKind } from '@handover/core';

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
    readonly reloadWithin?: string;
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
  readonly kind: InjectableKind;
  readonly name: string;
  /** Names of the webhooks; default: all of them. */
  readonly webhooks?: readonly string[];
}

export interface EmbedSpec {
  readonly authority: EmbedAuthority;
  readonly leaf: EmbedLeaf;
  readonly inject: readonly EmbedInjection[];
}
