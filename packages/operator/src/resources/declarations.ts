import { parseResources, type Resource, type Kind as ResourceName } from '@handover/core';
import { type Labels, nameAlone, ownLabels, readYaml } from '@handover/engine';
import { type AnyInformer, type Kube, type KubeObject, namespaces as namespaceKind } from '@handover/kube';
import { instant } from '@handover/material';
import { labelsOf as boundedLabels } from '../cache/bounds.ts';
import type { Budget } from '../cache/budget.ts';
import { Projection } from '../cache/projection.ts';
import { listed, Watched } from '../cache/watched.ts';
import { type Declared, RESOURCE_KINDS, RESOURCES } from './declared.ts';

/** Where resources come from. */
export interface Declarations {
  /** Begins to follow them, until `signal`; absent: they do not change. */
  start?(signal: AbortSignal): void;
  all(): readonly Declared[];
  /** Past every cache. */
  fresh(): Promise<readonly Declared[]>;
  /** Namespaces with their labels; undefined: those that the resources name. */
  namespaces(): ReadonlyMap<string, Labels> | undefined;
  freshNamespaces(): Promise<ReadonlyMap<string, Labels> | undefined>;
  readonly ready: Promise<unknown>;
  readonly synced: boolean;
}

const NAMES = Object.keys(RESOURCE_KINDS) as readonly ResourceName[];

interface NamespaceLabels {
  readonly name: string;
  readonly labels: Labels;
  readonly going: boolean;
}

export const NAMESPACES = new Projection<KubeObject, NamespaceLabels>('Namespace', {
  keep: ({ metadata: { name = '', labels, deletionTimestamp } }) => ({
    name,
    labels: boundedLabels(labels),
    going: deletionTimestamp !== undefined,
  }),
});

/** A namespace that is going takes nothing any more. */
const labelsOf = (items: readonly NamespaceLabels[]): ReadonlyMap<string, Labels> =>
  new Map(
    // The name decides: a label that claims another is none of it.
    items.filter(({ going }) => !going).map(({ name, labels }) => [name, { ...labels, ...ownLabels(name) }]),
  );

export interface CustomResourceOptions {
  readonly kube: Kube;
  readonly budget?: Budget | undefined;
  /** Namespaces to look at; undefined: the whole cluster. */
  readonly only?: readonly string[] | undefined;
  /** `namespace`: the one whose resources have changed; undefined: more than that. */
  readonly onChange: (namespace?: string) => void;
}

/** Custom resources, followed by watches. */
export class CustomResources implements Declarations {
  readonly #options: CustomResourceOptions;
  readonly #resources: readonly Watched<KubeObject, Declared>[];
  readonly #namespaces: Watched<KubeObject, NamespaceLabels> | undefined;
  #signal: AbortSignal | undefined;

  constructor(options: CustomResourceOptions) {
    this.#options = options;
    const { kube, budget, only, onChange } = options;
    this.#resources = this.#scopes().map(
      ([name, namespace]) =>
        new Watched<KubeObject, Declared>(kube, RESOURCE_KINDS[name], {
          projection: RESOURCES[name],
          budget,
          first: true,
          ...(namespace === undefined ? {} : { namespace }),
        }),
    );
    for (const informer of this.#resources) {
      informer.on('changed', ({ before, after }) => {
        // Our own writes of status change nothing that we read. An object that was recreated meanwhile begins with generation 1 again.
        const isSame = before?.generation === after?.generation && before?.uid === after?.uid;
        if (!isSame || !sameAnnotations(before, after)) onChange((after ?? before)?.namespace);
      });
    }
    if (only === undefined) {
      this.#namespaces = new Watched<KubeObject, NamespaceLabels>(kube, namespaceKind, {
        metadataOnly: true,
        projection: NAMESPACES,
        first: true,
      });
      this.#namespaces.on('changed', ({ before, after }) => {
        if (JSON.stringify(before) !== JSON.stringify(after)) onChange();
      });
    }
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    for (const informer of this.#informers()) informer.start(signal);
  }

  #informers(): readonly AnyInformer[] {
    return this.#namespaces === undefined ? this.#resources : [...this.#resources, this.#namespaces];
  }

  #scopes(): readonly (readonly [ResourceName, string | undefined])[] {
    const { only } = this.#options;
    if (only === undefined) return NAMES.map((name) => [name, undefined]);
    return NAMES.filter((name) => RESOURCE_KINDS[name].namespaced).flatMap((name) =>
      only.map((namespace) => [name, namespace] as const),
    );
  }

  all(): readonly Declared[] {
    return this.#resources.flatMap((informer) => informer.list());
  }

  async fresh(): Promise<readonly Declared[]> {
    const { kube, budget } = this.#options;
    const room = budget?.another();
    const all: Declared[] = [];
    for (const [name, namespace] of this.#scopes()) {
      const which = { namespace, projection: RESOURCES[name], budget: room };
      const { kept } = await listed<KubeObject, Declared>(kube, RESOURCE_KINDS[name], which, this.#signal);
      for (const declared of kept) all.push(declared);
    }
    return all;
  }

  namespaces(): ReadonlyMap<string, Labels> | undefined {
    const { only } = this.#options;
    if (only !== undefined) return new Map(only.map((name) => [name, nameAlone(name)]));
    return labelsOf(this.#namespaces?.list() ?? []);
  }

  async freshNamespaces(): Promise<ReadonlyMap<string, Labels> | undefined> {
    const { kube, only } = this.#options;
    if (only !== undefined) return this.namespaces();
    const which = { metadataOnly: true, projection: NAMESPACES };
    return labelsOf(
      (await listed<KubeObject, NamespaceLabels>(kube, namespaceKind, which, this.#signal)).kept,
    );
  }

  get ready(): Promise<unknown> {
    return Promise.all(this.#informers().map(({ ready }) => ready));
  }

  get synced(): boolean {
    return this.#informers().every(({ synced }) => synced);
  }
}

const sameAnnotations = (before: Declared | undefined, after: Declared | undefined): boolean =>
  JSON.stringify(before?.resource?.metadata) === JSON.stringify(after?.resource?.metadata);

/** Resources from a file or from a program: no custom resources, no right to list anything. */
export class GivenResources implements Declarations {
  readonly #declared: readonly Declared[];
  readonly ready = Promise.resolve();
  readonly synced = true;

  constructor(resources: readonly Resource[]) {
    this.#declared = resources.map((resource) => {
      const { kind, metadata } = resource;
      const namespace = 'namespace' in metadata ? metadata.namespace : undefined;
      return {
        kind,
        namespace,
        name: metadata.name,
        uid: `${kind} ${namespace ?? '-'}/${metadata.name}`,
        version: '',
        generation: 0,
        createdAt: instant(0),
        managers: {},
        resource,
        problem: undefined,
        status: undefined,
      };
    });
  }

  all(): readonly Declared[] {
    return this.#declared;
  }

  async fresh(): Promise<readonly Declared[]> {
    return this.#declared;
  }

  namespaces(): undefined {
    return undefined;
  }

  async freshNamespaces(): Promise<undefined> {
    return undefined;
  }
}

/** Resources of a YAML file. */
export const resourcesOfFile = (text: string, path: string): GivenResources =>
  new GivenResources(parseResources(readYaml(text, path)));
