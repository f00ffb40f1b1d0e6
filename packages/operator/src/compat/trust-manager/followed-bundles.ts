import { type ForeignBundleSource, TRUST_MANAGER } from '@handover/core';
import { ownLabels, type Selector, selects } from '@handover/engine';
import {
  type AnyInformer,
  configMaps,
  deployments,
  type Kube,
  type KubeObject,
  namespaces,
  secrets,
} from '@handover/kube';
import { labelsOf } from '../../cache/bounds.ts';
import type { Budget } from '../../cache/budget.ts';
import { Projection } from '../../cache/projection.ts';
import { Watched } from '../../cache/watched.ts';
import { OperatorError } from '../../error.ts';
import { BUNDLES, type BundleSeen, bundles } from './bundle.ts';
import type { DefaultCasState } from './default-cas.ts';
import type { SourceKind } from './sources.ts';
import { isOutput, TARGETS, type TargetSeen } from './targets.ts';

export interface BundleOptions {
  /** Namespace of sources. */
  readonly trustNamespace: string;
  /** The CAs that `useDefaultCAs` stands for. */
  readonly defaultCas: () => DefaultCasState;
  /** Whether Bundles may write Secrets. */
  readonly secretTargets: boolean;
}

interface SourceSeen {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly resourceVersion: string;
  /** Then no selector takes it. */
  readonly isOutput: boolean;
}

interface NamespaceSeen {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly going: boolean;
}

const API_KINDS = { ConfigMap: configMaps, Secret: secrets } as const;
const KINDS: readonly SourceKind[] = ['ConfigMap', 'Secret'];
/** How often to ask whether Bundles are there by now. */
const KIND_MS = 30_000;

const sourceSeen = (object: KubeObject): SourceSeen => ({
  name: object.metadata.name ?? '',
  labels: labelsOf(object.metadata.labels),
  resourceVersion: object.metadata.resourceVersion ?? '',
  isOutput: isOutput(object),
});

const namespaceSeen = ({ metadata }: KubeObject): NamespaceSeen => ({
  name: metadata.name ?? '',
  labels: { ...labelsOf(metadata.labels), ...ownLabels(metadata.name ?? '') },
  going: metadata.deletionTimestamp !== undefined,
});

const isReady = ({ status }: KubeObject): boolean =>
  ((status as { readyReplicas?: number } | undefined)?.readyReplicas ?? 0) > 0;

interface Rival {
  readonly name: string;
  readonly ready: boolean;
}

export const SOURCES = new Projection('source of a Bundle', { keep: sourceSeen });
export const BUNDLE_NAMESPACES = new Projection('Namespace of a Bundle', { keep: namespaceSeen });
export const TRUST_MANAGERS = new Projection<KubeObject, Rival>('Deployment of trust-manager', {
  keep: (object) => ({ name: object.metadata.name ?? '', ready: isReady(object) }),
});

const isSelected = (selector: Selector, { isOutput, labels }: SourceSeen): boolean =>
  !isOutput && selects(selector, labels);

const takes = (source: ForeignBundleSource, kind: SourceKind, object: SourceSeen): boolean => {
  const reference = kind === 'ConfigMap' ? source.configMap : source.secret;
  if (reference === undefined) return false;
  return reference.name === undefined
    ? isSelected(reference.selector ?? {}, object)
    : reference.name === object.name;
};

/** Everything that decides what Bundles give, followed by its metadata. Of Secrets no content is kept. */
export class FollowedBundles {
  readonly options: BundleOptions;
  readonly #kube: Kube;
  readonly #budget: Budget | undefined;
  readonly #bundles: Watched<KubeObject, BundleSeen>;
  readonly #namespaces: Watched<KubeObject, NamespaceSeen>;
  readonly #rivals: Watched<KubeObject, Rival>;
  readonly #sources = new Map<SourceKind, Watched<KubeObject, SourceSeen>>();
  readonly #targets = new Map<SourceKind, Watched<KubeObject, TargetSeen>>();
  readonly #takeOver: boolean;
  /** Called with the names of Bundles to look at. */
  #concerned: (names: Iterable<string>) => void = () => {};
  #absence: ((error: Error) => void) | undefined;

  constructor(kube: Kube, options: BundleOptions, takeOver: boolean, budget?: Budget) {
    this.#kube = kube;
    this.#budget = budget;
    this.options = options;
    this.#takeOver = takeOver;
    const all = (): void => this.#concerned(this.names());
    this.#bundles = new Watched<KubeObject, BundleSeen>(kube, bundles, { projection: BUNDLES });
    this.#bundles.on('changed', ({ before, after }) => this.#concerned([(after ?? before)?.name ?? '']));
    this.#namespaces = new Watched<KubeObject, NamespaceSeen>(kube, namespaces, {
      metadataOnly: true,
      projection: BUNDLE_NAMESPACES,
    });
    this.#namespaces.on('changed', all);
    this.#rivals = new Watched<KubeObject, Rival>(kube, deployments, {
      namespace: options.trustNamespace,
      // As in trust-manager's chart.
      labelSelector: 'app.kubernetes.io/name=trust-manager',
      projection: TRUST_MANAGERS,
      budget,
    });
    this.#rivals.on('changed', all);
    for (const kind of KINDS) {
      this.#followSources(kind);
      if (kind === 'ConfigMap' || options.secretTargets) this.#followTargets(kind);
    }
  }

  #followSources(kind: SourceKind): void {
    const informer = new Watched<KubeObject, SourceSeen>(this.#kube, API_KINDS[kind], {
      namespace: this.options.trustNamespace,
      metadataOnly: true,
      projection: SOURCES,
      budget: this.#budget,
    });
    informer.on('changed', ({ before, after }) => {
      const either = [before, after].filter((one) => one !== undefined);
      this.#concerned(
        this.#bundles
          .list()
          .filter(
            ({ spec }) =>
              typeof spec !== 'string' &&
              spec.sources.some((source) => either.some((object) => takes(source, kind, object))),
          )
          .map(({ name }) => name),
      );
    });
    this.#sources.set(kind, informer);
  }

  #followTargets(kind: SourceKind): void {
    const informer = new Watched<KubeObject, TargetSeen>(this.#kube, API_KINDS[kind], {
      labelSelector: TRUST_MANAGER.bundle,
      metadataOnly: true,
      projection: TARGETS[kind],
      budget: this.#budget,
      indexes: { bundle: ({ bundle }) => (bundle === undefined ? [] : [bundle]) },
    });
    informer.on('changed', ({ before, after }) =>
      this.#concerned(
        [before, after].flatMap((one) => (one === undefined ? [] : [one.name, one.bundle ?? one.name])),
      ),
    );
    this.#targets.set(kind, informer);
  }

  /** Follows all of it until `signal`. Where there is no such kind as Bundle, the rest of the operator does not wait for one. */
  async start(signal: AbortSignal): Promise<void> {
    const others: readonly AnyInformer[] = [
      this.#namespaces,
      this.#rivals,
      ...this.#sources.values(),
      ...this.#targets.values(),
    ];
    for (const informer of others) informer.start(signal);
    await Promise.all(others.map(({ ready }) => ready));
    if (await this.#served(signal)) await this.#bundles.start(signal).ready;
    else void this.#await(signal);
  }

  #served(signal: AbortSignal): Promise<boolean> {
    const { group, version, plural } = bundles;
    return this.#kube.serves(group, version, plural, { signal }).catch(() => false);
  }

  async #await(signal: AbortSignal): Promise<void> {
    this.#absence?.(this.#missing());
    while (!signal.aborted) {
      await this.#kube.clock.sleep(KIND_MS, signal);
      if (await this.#served(signal)) {
        this.#bundles.start(signal);
        return;
      }
    }
  }

  #missing(): Error {
    return new OperatorError(
      'CRDS_MISSING',
      '--compat trust-manager: the API server has no Bundles; apply the CustomResourceDefinition of trust-manager',
    );
  }

  /** From now on `concerned` is told of Bundles to look at, all of them first, also those that are gone and have left something. */
  tell(concerned: (names: Iterable<string>) => void, absence: (error: Error) => void): void {
    this.#concerned = concerned;
    this.#absence = absence;
    if (this.#bundles.state.phase === 'idle') absence(this.#missing());
    const targets = [...this.#targets.values()].flatMap((informer) => informer.list());
    concerned(new Set([...this.names(), ...targets.map(({ name }) => name)]));
  }

  defaultCasChanged(): void {
    this.#concerned(this.names());
  }

  names(): readonly string[] {
    return this.#bundles.list().map(({ name }) => name);
  }

  /** Whether a Bundle that is not known is not there. */
  get knowsAll(): boolean {
    return this.#bundles.synced;
  }

  bundle(name: string): BundleSeen | undefined {
    return this.#bundles.get(name);
  }

  /** trust-manager itself, if it runs and is not to be taken over from. Where tenants can make Deployments does not count. */
  rival(): string | undefined {
    const found = this.#takeOver ? undefined : this.#rivals.list().find(({ ready }) => ready);
    return found === undefined ? undefined : `${this.options.trustNamespace}/${found.name}`;
  }

  /** Namespaces to write to, in order. */
  namespaces(selector: Selector | undefined): readonly string[] {
    return this.#namespaces
      .list()
      .filter(({ labels, going }) => !going && selects(selector ?? {}, labels))
      .map(({ name }) => name)
      .sort();
  }

  targets(bundle: string): readonly TargetSeen[] {
    return [...this.#targets.values()].flatMap((informer) => informer.by('bundle', bundle));
  }

  target(kind: SourceKind, id: string): TargetSeen | undefined {
    return this.#targets.get(kind)?.get(id);
  }

  /** Names of the source objects that match, in order. */
  selected(kind: SourceKind, selector: Selector): readonly string[] {
    return (this.#sources.get(kind)?.list() ?? [])
      .filter((object) => isSelected(selector, object))
      .map(({ name }) => name)
      .sort();
  }

  /** The versions of all that these sources name: equal as long as they would give the same. */
  versions(sources: readonly ForeignBundleSource[]): string {
    const objects = KINDS.flatMap((kind) =>
      (this.#sources.get(kind)?.list() ?? [])
        .filter((object) => sources.some((source) => takes(source, kind, object)))
        .map(({ name, resourceVersion }) => `${kind} ${name} ${resourceVersion}`)
        .sort(),
    );
    const state = this.options.defaultCas();
    return JSON.stringify([objects, 'why' in state ? state.why : state.version]);
  }
}
