import { ADOPT, TRUST_MANAGER } from '@handover/core';
import type { Listener } from '@handover/engine';
import { type ConfigMap, configMaps, type Kube, secrets } from '@handover/kube';
import { HandoverError, type Instant } from '@handover/material';
import { isCode, OperatorError } from '../../error.ts';
import type { FollowedBundles } from './followed-bundles.ts';
import { Restores } from './restores.ts';
import type { SourceKind } from './sources.ts';
import {
  type BundleId,
  bodyOf,
  isGuest,
  isRight,
  type TargetContent,
  type TargetPlace,
  type TargetSeen,
  targetSeen,
  tooLarge,
} from './targets.ts';

const API_KINDS = { ConfigMap: configMaps, Secret: secrets } as const;

export interface WriterOptions {
  readonly followed: FollowedBundles;
  /** Writes for as long as this replica leads. */
  readonly kube: Kube;
  readonly now: () => Instant;
  readonly on: Listener;
}

/** Writes targets that are not right, and takes back what is no longer asked for. */
export class TargetWriter {
  readonly #options: WriterOptions;
  readonly #restores = new Restores();

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Takes from former targets what was written there; one that is empty then goes. */
  async clean(bundle: BundleId, places: readonly TargetPlace[]): Promise<void> {
    const wanted = new Set(places.map(textOf));
    const former = this.#writtenFor(bundle.name).filter(
      (seen) => !wanted.has(textOf(seen)) && (seen.controller === bundle.uid || isGuest(seen, bundle)),
    );
    for (const seen of former) await this.#take(bundle, seen);
  }

  /** What a Bundle that is gone has left: the garbage collector takes all but what an owner gave over. */
  left(name: string): readonly TargetSeen[] {
    return this.#writtenFor(name).filter(({ isAdopted }) => isAdopted);
  }

  async cleanLeft(name: string): Promise<void> {
    for (const seen of this.left(name)) await this.#take({ name, uid: '' }, seen);
  }

  #writtenFor(bundle: string): readonly TargetSeen[] {
    return this.#options.followed
      .targets(bundle)
      .filter(
        ({ name, holder, going, keys }) =>
          name === bundle && holder === 'bundle' && !going && keys.length > 0,
      );
  }

  async #take(bundle: BundleId, seen: TargetSeen): Promise<void> {
    try {
      await this.#empty(bundle, seen);
    } catch (error) {
      if (isCode(error, 'KUBE_NOT_FOUND')) return;
      if (!(error instanceof HandoverError)) throw error;
      // The namespace is no longer asked for: it does not hold up the others.
      const what = `${textOf(seen)} of Bundle ${bundle.name}`;
      this.#options.on({ kind: 'failed', what, error, retryAt: undefined });
    }
  }

  async #empty(bundle: BundleId, seen: TargetSeen): Promise<void> {
    const left = await this.#apply(seen, bodyOf(seen, bundle, seen));
    // An object with another owner stays, even if it is empty.
    if (isGuest(seen, bundle)) return;
    const { data = {}, binaryData = {}, metadata } = left as ConfigMap;
    if (Object.keys(data).length > 0 || Object.keys(binaryData).length > 0) return;
    const { uid, resourceVersion } = metadata;
    await this.#options.kube.delete(API_KINDS[seen.kind], seen, { uid, resourceVersion });
  }

  /** Every target that is not right. One that cannot be written does not hold up the others. */
  async write(
    bundle: BundleId,
    places: readonly TargetPlace[],
    contents: ReadonlyMap<SourceKind, TargetContent>,
  ): Promise<readonly { readonly place: TargetPlace; readonly error: unknown }[]> {
    const troubles: { readonly place: TargetPlace; readonly error: unknown }[] = [];
    for (const place of places) {
      const content = contents.get(place.kind);
      const seen = this.#options.followed.target(place.kind, `${place.namespace}/${place.name}`);
      if (content === undefined || (seen !== undefined && isRight(seen, content, bundle))) continue;
      try {
        await this.#writeOne(bundle, place, content, seen);
      } catch (error) {
        if (!(error instanceof HandoverError) || isCode(error, 'LEASE_LOST')) throw error;
        troubles.push({ place, error });
      }
    }
    return troubles;
  }

  async #writeOne(
    bundle: BundleId,
    place: TargetPlace,
    content: TargetContent,
    followed: TargetSeen | undefined,
  ): Promise<void> {
    const isRestore = followed?.hash === content.hash;
    if (isRestore && !this.#restores.may(textOf(place), this.#options.now()))
      throw new OperatorError(
        'OBJECT_OBSTACLE',
        'it is changed again and again; see metadata.managedFields for who does it, and stop one of the two',
      );
    const large = tooLarge(content);
    if (large !== undefined) throw new OperatorError('OBJECT_OBSTACLE', large);
    const seen = followed ?? (await this.#unwatched(place));
    if (seen !== undefined) refuseForeign(seen);
    await this.#apply(place, bodyOf(place, bundle, seen, content));
  }

  /** One without the label is not watched. */
  async #unwatched(place: TargetPlace): Promise<TargetSeen | undefined> {
    const found = await this.#options.kube.get(API_KINDS[place.kind], { ...place, metadataOnly: true });
    return found && targetSeen(place.kind, found);
  }

  #apply({ kind, namespace, name }: TargetPlace, body: object): Promise<object> {
    return this.#options.kube.patch(
      API_KINDS[kind],
      { namespace, name },
      { apply: body, force: true, fieldManager: TRUST_MANAGER.manager },
    );
  }
}

const refuseForeign = ({ holder, kind, namespace, name }: TargetSeen): void => {
  if (holder === 'handover')
    throw new OperatorError(
      'OBJECT_OBSTACLE',
      'it is kept for an Authority, a Leaf or a TrustBundle of Handover; give the Bundle another name',
    );
  if (holder === 'foreign')
    throw new OperatorError(
      'OBJECT_OBSTACLE',
      `it was there before and is no target of this Bundle; to let the Bundle write its keys there: kubectl -n ${namespace} label ${kind.toLowerCase()} ${name} ${ADOPT}=true`,
    );
};

const textOf = ({ kind, namespace, name }: TargetPlace): string => `${kind} ${namespace}/${name}`;
