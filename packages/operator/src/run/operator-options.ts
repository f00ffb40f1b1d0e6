import type { Compat } from '@handover/core';
import type { Listener, Meters } from '@handover/engine';
import type { Kube } from '@handover/kube';
import type { Declarations } from '../resources/declarations.ts';
import type { Addresses } from '../workloads/addresses.ts';

export interface OperatorOptions {
  readonly kube: Kube;
  /** A client without a rate limit, for API fields: their repair must not wait behind other work. Default: `kube`. */
  readonly swift?: Kube | undefined;
  /** Its own namespace: the Lease and the authorities lie there. */
  readonly namespace: string;
  readonly identity: string;
  readonly trustNamespace?: string | undefined;
  /** Resources from elsewhere than custom resources: then nothing is listed that cannot be named. */
  readonly declarations?: Declarations | undefined;
  /** Namespaces to look at; undefined: the whole cluster. */
  readonly namespaces?: readonly string[] | undefined;
  /** Whose annotations are honoured beside our own. */
  readonly compat?: readonly Compat[] | undefined;
  /** `namespace/name` of the Authority that stands in for service-ca's. */
  readonly serviceCaAuthority?: string | undefined;
  /** Whether fields that another controller keeps become ours. Default: they are left alone and named. */
  readonly takeOver?: boolean | undefined;
  /** False: nobody looks at pods; whoever reads an object rests on `reloadWithin`, by its owner's word. Default: true, unless resources are given. */
  readonly consumersFound?: boolean;
  /** False: pods are not told when something they read was written. */
  readonly nudge?: boolean;
  /** Which addresses may be asked what they have loaded. Default: those of pods, and none outside the cluster. */
  readonly addresses?: Addresses | undefined;
  readonly leaseName?: string;
  /** Milliseconds within which a change that no event told of is found, give or take a third. Default 30,000. */
  readonly resync?: number;
  /** Something that is followed changed, whoever leads. */
  readonly onSeen?: (() => void) | undefined;
  readonly meters?: Meters | undefined;
  readonly on: Listener;
}
