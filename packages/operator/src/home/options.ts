import type { KeySource } from '@handover/core';
import type {
  AuthorityId,
  EvidenceSource,
  ExternallyHeldReader,
  HomeFacts,
  IssuedEntry,
  Meters,
  ObjectId,
  ProfileReader,
  Reissues,
} from '@handover/engine';
import type { Kube } from '@handover/kube';
import type { Budget } from '../cache/budget.ts';
import type { Kinds } from '../objects/kinds.ts';
import type { ObjectStoreOptions } from '../objects/object-store.ts';
import type { Plural } from '../objects/place.ts';
import type { ObjectProjection } from '../objects/projection.ts';
import type { Declarations } from '../resources/declarations.ts';
import type { ResolveOptions } from '../resources/resolved-resources.ts';
import type { SelectedSources } from '../resources/selected-sources.ts';
import type { Addresses } from '../workloads/addresses.ts';
import type { PodLeafSource } from '../workloads/pod-signers.ts';
import type { Workloads } from '../workloads/workload-cache.ts';

/** How the API server is reached. */
export interface Connection {
  readonly kube: Kube;
  /** For what is kept of the objects of each namespace. Default: each watch has one of its own. */
  readonly budget?: Budget | undefined;
  /** For API fields, whose repair must not wait behind other work. Default: `kube`. */
  readonly caBundleClient?: Kube | undefined;
  /** Ends reads. */
  readonly signal: AbortSignal;
  /** Ends writes, which may outlast the reads by a moment: a write that is cut off may land all the same. Default: `signal`. */
  readonly writeSignal?: AbortSignal | undefined;
}

/** What of the cluster is looked at. */
export interface Scope {
  /** The operator's own namespace, where authorities lie. */
  readonly namespace: string;
  readonly trustNamespace: string;
  /** The CAs that `defaultCas` of a TrustBundle stands for. Default: none. */
  readonly defaultCas?: HomeFacts['defaultCas'];
  /** Namespaces to look at; undefined: the whole cluster. */
  readonly namespaces?: readonly string[] | undefined;
  readonly kinds: Kinds;
  /** Kinds that are watched whole; none: this account may see only what it can name. */
  readonly wide: readonly Plural[];
  /** Nothing is watched at all: every look asks, for a process that is gone in a moment. Default: false. */
  readonly once?: boolean | undefined;
}

/** Where resources come from, and what is made of them. */
export interface ResourceOptions
  extends Pick<ResolveOptions, 'clusterTrustBundles' | 'injectionOf' | 'takeOver' | 'more'> {
  readonly declarations: Declarations;
  /** What selectors of TrustBundles take. Default: such a source is missing. */
  readonly selected?: SelectedSources | undefined;
  /** Annotations that an object carries beside our own. */
  readonly annotationsOf?: ObjectStoreOptions['annotationsOf'];
  /** The TLS profile that the platform asks for. Default: it is read each time. */
  readonly clusterProfile?: ProfileReader['cluster'] | undefined;
}

/** How consumers are found and asked. */
export interface ConsumerOptions {
  /** Whether consumers are found by looking at pods. */
  readonly found: boolean;
  /** Live pods, and what makes them; undefined: this account may not see them. */
  readonly workloads?: Workloads | undefined;
  /** What the owner of an object says of readers whose pods do not say how they pick changes up. */
  readonly wordOf?: ((id: ObjectId) => string | undefined) | undefined;
  /** Certificates that pods got for themselves. */
  readonly podLeaves?: PodLeafSource | undefined;
  /** Whether pods are told when something they read was written. Default: true. */
  readonly nudge?: boolean | undefined;
  /** Whether the annotations of Stakater's Reloader count as the owner's word. Default: false. */
  readonly reloader?: boolean | undefined;
  /** All evidence there is, instead of what this home would look for. */
  readonly evidence?: EvidenceSource | undefined;
  /** Which addresses may be asked. Default: those of pods, and none outside the cluster. */
  readonly addresses?: Addresses | undefined;
}

/** What the home tells of. */
export interface HomeEvents {
  readonly change?:
    | ((
        plural: Plural,
        key: string,
        before: ObjectProjection | undefined,
        after: ObjectProjection | undefined,
      ) => void)
    | undefined;
  /** A password was written, or another one; `namespace/name` of its Secret. */
  readonly password?: ((secret: string) => void) | undefined;
  readonly state?: ((authority: AuthorityId) => void) | undefined;
  readonly repair?: ((id: ObjectId, manager: string) => void) | undefined;
  /** A certificate was made; nothing holds it yet. */
  readonly issued?: ((entry: IssuedEntry) => void) | undefined;
  /** A watch that goes on by itself could not begin, or broke. */
  readonly trouble?: ((what: string, error: Error, plural?: Plural) => void) | undefined;
  readonly nudgeFailed?: ((error: unknown) => void) | undefined;
}

/** Leaves whose keys other programs hold. */
export interface ExternallyHeldLeaves extends Reissues {
  /** `fresh`: past the caches. */
  reader(fresh: boolean): ExternallyHeldReader;
  /** Annotations of what asks for such a leaf. */
  readonly wordsOn: (id: ObjectId) => Readonly<Record<string, string>>;
}

export interface KubeHomeOptions {
  readonly connection: Connection;
  readonly scope: Scope;
  readonly resources: ResourceOptions;
  readonly consumers: ConsumerOptions;
  readonly externallyHeld?: ExternallyHeldLeaves | undefined;
  readonly on?: HomeEvents | undefined;
  readonly keys?: KeySource | undefined;
  /** This process, by the name that it has in the Lease. */
  readonly identity?: string | undefined;
  readonly meters?: Meters | undefined;
}
