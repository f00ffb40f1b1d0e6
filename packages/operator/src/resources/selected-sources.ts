import { MANAGED_LABEL, type Resource, type TrustBundle } from '@handover/core';
import { type Labels, type Selector, selects } from '@handover/engine';
import { configMaps, type Kube, type KubeObject, secrets } from '@handover/kube';
import { labelsOf } from '../cache/bounds.ts';
import type { Budget } from '../cache/budget.ts';
import { Projection } from '../cache/projection.ts';
import { listed, Watched } from '../cache/watched.ts';

type Kind = 'configMap' | 'secret';
type Source = TrustBundle['spec']['sources'][number];

const API_KINDS = { configMap: configMaps, secret: secrets } as const;

/** Names of the objects of the trust namespace that a selector takes, in order. */
export type Select = (kind: Kind, selector: Selector) => Promise<readonly string[]>;

export interface SelectedSources {
  /** As the watches have them. */
  readonly followed: Select;
  readonly fresh: Select;
}

interface Seen {
  readonly name: string;
  readonly labels: Labels;
}

const seen = ({ metadata }: KubeObject): Seen => ({
  name: metadata.name ?? '',
  labels: labelsOf(metadata.labels),
});

/** Of the trust namespace, where only administrators write. */
export const LABELLED = new Projection<KubeObject, Seen>('source of a TrustBundle', { keep: seen });

/** What Handover writes is never selected: a bundle that takes its own target as a source would keep every CA for ever. */
const takes = (selector: Selector, { labels }: Seen): boolean =>
  labels[MANAGED_LABEL] !== 'true' && selects(selector, labels);

const namesOf = (all: readonly Seen[], selector: Selector): readonly string[] =>
  all
    .filter((one) => takes(selector, one))
    .map(({ name }) => name)
    .sort();

export interface FollowedSourcesOptions {
  readonly kube: Kube;
  readonly budget?: Budget | undefined;
  readonly trustNamespace: string;
  /** A selector that was asked for takes another object, or one less. */
  readonly onChange: () => void;
  readonly onTrouble?: ((what: string, error: Error) => void) | undefined;
  readonly signal: AbortSignal;
}

/** Names and labels of the trust namespace, from the first selector on. No content is read here. */
export class FollowedSources implements SelectedSources {
  readonly #options: FollowedSourcesOptions;
  readonly #informers = new Map<Kind, Watched<KubeObject, Seen>>();
  /** Each selector that was asked for, by its text. */
  readonly #asked: Readonly<Record<Kind, Map<string, Selector>>> = {
    configMap: new Map(),
    secret: new Map(),
  };

  constructor(options: FollowedSourcesOptions) {
    this.#options = options;
  }

  readonly followed: Select = async (kind, selector) => {
    this.#asked[kind].set(JSON.stringify(selector), selector);
    const informer = this.#informers.get(kind) ?? this.#follow(kind);
    await informer.ready;
    return namesOf(informer.list(), selector);
  };

  readonly fresh: Select = async (kind, selector) => {
    const { kube, trustNamespace, signal } = this.#options;
    const which = { namespace: trustNamespace, metadataOnly: true, projection: LABELLED };
    const { kept } = await listed<KubeObject, Seen>(kube, API_KINDS[kind], which, signal);
    return namesOf(kept, selector);
  };

  #follow(kind: Kind): Watched<KubeObject, Seen> {
    const { kube, budget, trustNamespace, onChange, onTrouble, signal } = this.#options;
    const informer = new Watched<KubeObject, Seen>(kube, API_KINDS[kind], {
      namespace: trustNamespace,
      metadataOnly: true,
      projection: LABELLED,
      budget,
    });
    informer.on('changed', ({ before, after }) => {
      if (!informer.synced) return;
      const taken = (selector: Selector, one: Seen | undefined): boolean =>
        one !== undefined && takes(selector, one);
      for (const selector of this.#asked[kind].values())
        if (taken(selector, before) !== taken(selector, after)) return onChange();
    });
    const what = `watch of the labels of ${API_KINDS[kind].plural} in ${trustNamespace}`;
    informer.on('trouble', (error) => onTrouble?.(what, error));
    informer.start(signal);
    this.#informers.set(kind, informer);
    return informer;
  }
}

const namedBy = async (source: Source, select: Select): Promise<readonly Source[]> => {
  for (const kind of ['configMap', 'secret'] as const) {
    const { selector, key } = source[kind] ?? {};
    if (selector === undefined || key === undefined) continue;
    return (await select(kind, selector)).map((name) => ({ [kind]: { name, key } }));
  }
  return [];
};

/** A TrustBundle with the names of what its selectors take. A selector that takes nothing stays: it is a source that is missing. */
export const withNames = async (resource: Resource, select: Select | undefined): Promise<Resource> => {
  if (resource.kind !== 'TrustBundle' || select === undefined) return resource;
  const sources: Source[] = [];
  // Behind the others, so that messages name each source by its place in the spec.
  const further: Source[] = [];
  for (const source of resource.spec.sources) {
    const [first = source, ...rest] = await namedBy(source, select);
    sources.push(first);
    further.push(...rest);
  }
  return { ...resource, spec: { ...resource.spec, sources: [...sources, ...further] } };
};
