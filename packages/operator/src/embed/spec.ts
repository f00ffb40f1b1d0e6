import type { InjectableKind } from '@handover/core';

/**
 * The server's own CA: its name and fields of an Authority. Durations as in YAML: `90d`, `36h`.
 *
 * @example
 * ```ts
 * import type { EmbedAuthority } from 'handover';
 *
 * const authority: EmbedAuthority = { name: 'my-webhook', lifetime: '1y', rotation: { before: '30d' } };
 * ```
 */
export interface EmbedAuthority {
  /** Name of the CA. */
  readonly name: string;
  /** Default: the namespace of the pod, or of the kubeconfig's context. */
  readonly namespace?: string;
  /** Key algorithm. Default `ECDSA-P256`. */
  readonly key?: string;
  /** Lifetime of each CA generation. Default `5y`. */
  readonly lifetime?: string;
  /** When and how the CA rotates. */
  readonly rotation?: {
    /** Share of the lifetime after which a rotation begins. Default `80%`. */
    readonly at?: string;
    /** Time before the end at which a rotation begins; instead of `at`. */
    readonly before?: string;
    /** Default `Phased`. */
    readonly strategy?: 'Phased' | 'Instant';
    /** Programs that give no evidence reload within this time. Default `3m`. */
    readonly reloadWithin?: string;
    /** Stops before the next step. Default false. */
    readonly paused?: boolean;
  };
  /** The ConfigMap with the CA bundle. Default name: `<name>-trust`. */
  readonly bundle?: { readonly configMapName?: string };
}

/**
 * The server's certificate: its name and fields of a Leaf.
 *
 * @example
 * ```ts
 * import type { EmbedLeaf } from 'handover';
 *
 * const leaf: EmbedLeaf = { name: 'my-webhook', dnsNames: ['my-webhook.default.svc'], lifetime: '30d' };
 * ```
 */
export interface EmbedLeaf {
  /** Name of the certificate. */
  readonly name: string;
  /** Default: the namespace of the CA. */
  readonly namespace?: string;
  /** Secret that holds certificate and key. Default: `name`. */
  readonly secretName?: string;
  /** Key algorithm. Default `ECDSA-P256`. */
  readonly key?: string;
  /** Subject of the certificate. */
  readonly subject?: { readonly commonName?: string; readonly organizations?: readonly string[] };
  /** DNS names of the server, such as `my-webhook.my-namespace.svc`. */
  readonly dnsNames?: readonly string[];
  /** IP addresses of the server. */
  readonly ipAddresses?: readonly string[];
  /** URIs, such as SPIFFE IDs. */
  readonly uris?: readonly string[];
  /** Default `['server']`. */
  readonly usages?: readonly ('server' | 'client')[];
  /** Lifetime of each certificate. Default `90d`. */
  readonly lifetime?: string;
  /** Share of the lifetime after which the certificate is renewed. Default `66%`. */
  readonly renew?: { readonly at?: string };
}

/**
 * An object whose `caBundle` follows the CA.
 *
 * @example
 * ```ts
 * import type { EmbedInjection } from 'handover';
 *
 * const inject: readonly EmbedInjection[] = [
 *   { kind: 'MutatingWebhookConfiguration', name: 'my-webhook' },
 *   { kind: 'ValidatingWebhookConfiguration', name: 'my-webhook', webhooks: ['my-webhook.example.com'] },
 * ];
 * ```
 */
export interface EmbedInjection {
  /** Kind of the object. */
  readonly kind: InjectableKind;
  /** Name of the object. */
  readonly name: string;
  /** Names of the webhooks in the object. Default: all of them. */
  readonly webhooks?: readonly string[];
}

/**
 * CA, certificate and injected objects of one server.
 *
 * @example
 * ```ts
 * import { type EmbedSpec, embed } from 'handover';
 *
 * const spec: EmbedSpec = {
 *   authority: { name: 'my-webhook', rotation: { at: '50%' } },
 *   leaf: { name: 'my-webhook', dnsNames: ['my-webhook.default.svc'] },
 *   inject: [{ kind: 'ValidatingWebhookConfiguration', name: 'my-webhook' }],
 * };
 * const stop = new AbortController();
 * const own = await embed(spec, { signal: stop.signal });
 * console.log(own.identity.status().kind); // identity
 * stop.abort();
 * ```
 */
export interface EmbedSpec {
  /** The server's own CA. */
  readonly authority: EmbedAuthority;
  /** The server's certificate. */
  readonly leaf: EmbedLeaf;
  /** Objects through which the API server calls this server. */
  readonly inject: readonly EmbedInjection[];
}
