import type { Compat } from '@handover/core';
import type { Listener, Meters } from '@handover/engine';
import type { Kube } from '@handover/kube';
import type { BundleOptions } from '../compat/trust-manager/followed-bundles.ts';
import type { Declarations } from '../resources/declarations.ts';
import type { Addresses } from '../workloads/addresses.ts';

/** What is looked at. */
export interface OperatorScope {
  /** Namespace that TrustBundles take Secrets and ConfigMaps from. Default: the operator's own. */
  readonly trustNamespace?: string | undefined;
  /** File of the CAs that `defaultCas` of a TrustBundle, and `useDefaultCAs` of a Bundle, stand for. */
  readonly defaultCas?: string | undefined;
  /** Namespaces to look at; undefined: the whole cluster. */
  readonly namespaces?: readonly string[] | undefined;
  /** Resources from elsewhere than custom resources: then only objects that can be named are read. */
  readonly declarations?: Declarations | undefined;
}

/** Injection by the annotations of other controllers. */
export interface OperatorInjection {
  /** Controllers whose annotations are honoured beside our own. */
  readonly compat?: readonly Compat[] | undefined;
  /** `namespace/name` of the Authority that stands in for service-ca's. */
  readonly serviceCaAuthority?: string | undefined;
  /** Namespace in which a running cainjector counts. Default: cert-manager. */
  readonly cainjectorNamespace?: string | undefined;
  /** Whether to take over fields that another controller manages. Default: they are left alone and named. */
  readonly takeOver?: boolean | undefined;
}

/** What is found out from pods, and told to them. */
export interface OperatorPods {
  /** False: pods are not looked at, and their owner promises that they reload within `reloadWithin`. Default: true, unless `declarations` are given. */
  readonly found?: boolean | undefined;
  /** False: pods are not told when an object that they read was written. */
  readonly nudge?: boolean | undefined;
  /** Which addresses may be asked what they have loaded. Default: those of pods, and none outside the cluster. */
  readonly addresses?: Addresses | undefined;
}

export interface OperatorOptions {
  readonly kube: Kube;
  /** A client without a rate limit, for API fields: their repair must not wait behind other work. Default: `kube`. */
  readonly caBundleClient?: Kube | undefined;
  /** Its own namespace: the Lease and the authorities lie there. */
  readonly namespace: string;
  readonly identity: string;
  readonly leaseName?: string;
  readonly scope?: OperatorScope;
  readonly injection?: OperatorInjection;
  readonly pods?: OperatorPods;
  /** With `trust-manager` among `injection.compat`. Default: sources from cert-manager, no Secrets as targets. */
  readonly bundles?: Partial<Omit<BundleOptions, 'defaultCas'>>;
  /** Milliseconds within which a change without an event is found, give or take a third. Default 30,000. */
  readonly resync?: number;
  /** An object that is watched changed, in every replica. */
  readonly onSeen?: (() => void) | undefined;
  readonly meters?: Meters | undefined;
  readonly on: Listener;
}
