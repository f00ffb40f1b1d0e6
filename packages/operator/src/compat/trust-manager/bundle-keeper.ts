import { ADOPT, MANAGED_LABEL, TRUST_MANAGER } from '@handover/core';
import { type Listener, WorkQueue } from '@handover/engine';
import { type ConfigMap, configMaps, type Kube, type KubeObject, secrets } from '@handover/kube';
import { after, HandoverError, type Instant } from '@handover/material';
import { isCode, OperatorError } from '../../error.ts';
import { type BundleSeen, bundles, type Outcome, statusFor } from './bundle.ts';
import type { FollowedBundles } from './followed-bundles.ts';
import { Restores } from './restores.ts';
import { sourcesOf } from './source-reader.ts';
import { type Built, build, type SourceKind } from './sources.ts';
import {
  bodyOf,
  contentOf,
  isGiven,
  isRight,
  type TargetContent,
  type TargetPlace,
  type TargetSeen,
  tooLarge,
} from './targets.ts';

const API_KINDS = { ConfigMap: configMaps, Secret: secrets } as const;
const RESYNC_MS = 60_000;
/** While trust-manager runs; its end is heard of at once. */
const RIVAL_MS = 300_000;

export interface KeeperOptions {
  readonly followed: FollowedBundles;
  /** Writes for as long as this replica leads. */
  readonly kube: Kube;
  readonly now: () => Instant;
  readonly on: Listener;
}

/** What the sources of a Bundle gave, and the contents made of it: kept while nothing that they name changes. */
interface Made {
  readonly from: string;
  readonly built: Built;
  readonly contents: ReadonlyMap<SourceKind, TargetContent>;
}

/** Keeps the targets of trust-manager's Bundles, for as long as this replica leads. */
export class BundleKeeper {
  readonly #options: KeeperOptions;
  readonly #queue: WorkQueue;
  readonly #made = new Map<string, Made>();
  readonly #restores = new Restores();

  constructor(options: KeeperOptions) {
    this.#options = options;
    const { now, on } = options;
    this.#queue = new WorkQueue({
      now,
      random: Math.random,
      work: (name) => this.#keep(name),
      onError: (name, error, retryAt) => on({ kind: 'failed', what: `Bundle ${name}`, error, retryAt }),
      laneOf: (name) => name,
      places: { inAll: 4, each: 4 },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { followed, on } = this.#options;
    followed.tell(
      (names) => {
        for (const name of names) this.#queue.add(name);
      },
      (error) => on({ kind: 'failed', what: 'Bundles', error, retryAt: undefined }),
    );
    await this.#queue.run(signal).finally(() =>
      followed.tell(
        () => {},
        () => {},
      ),
    );
  }

  async #keep(name: string): Promise<Instant | undefined> {
    const { followed, now } = this.#options;
    const bundle = followed.bundle(name);
    if (bundle === undefined || bundle.going) {
      this.#made.delete(name);
      return undefined;
    }
    const rival = followed.rival();
    if (rival !== undefined) {
      this.#sayRival(rival);
      return after(now(), RIVAL_MS);
    }
    const { outcome, errors } = await this.#sync(bundle);
    await this.#tell(bundle, outcome);
    const [first] = errors;
    // Comes again after a wait that grows.
    if (first !== undefined) throw first;
    return after(now(), RESYNC_MS * (0.67 + Math.random() * 0.66));
  }

  #sayRival(rival: string): void {
    const error = new OperatorError(
      'CONFLICT',
      `Bundles are left alone while Deployment ${rival} runs; scale it to 0, or start the operator with --take-over`,
    );
    this.#options.on({ kind: 'failed', what: 'Bundles', error, retryAt: undefined });
  }

  async #sync(
    bundle: BundleSeen,
  ): Promise<{ readonly outcome: Outcome; readonly errors: readonly unknown[] }> {
    const { followed } = this.#options;
    const { spec } = bundle;
    const failed = (reason: string, message: string): Outcome => ({
      synced: false,
      reason,
      message,
      defaultCaVersion: undefined,
    });
    if (typeof spec === 'string') return { outcome: failed('SpecInvalid', spec), errors: [] };
    const { built, contents } = await this.#madeOf(bundle, spec);
    if ('reason' in built) return { outcome: failed(built.reason, built.message), errors: [] };
    if (spec.target.secret !== undefined && !followed.options.secretTargets)
      return {
        outcome: failed(
          'SecretTargetsDisabled',
          'this Bundle has a Secret as target; start the operator with --secret-targets to allow that',
        ),
        errors: [],
      };
    const places = followed
      .namespaces(spec.target.namespaceSelector)
      .flatMap((namespace) => [...contents.keys()].map((kind) => ({ kind, namespace, name: bundle.name })));
    await this.#clean(bundle, places);
    const troubles = await this.#write(bundle, places, contents);
    const [first] = troubles;
    if (first === undefined) {
      const words =
        spec.target.namespaceSelector === undefined
          ? 'all namespaces'
          : `${followed.namespaces(spec.target.namespaceSelector).length} selected namespaces`;
      const outcome: Outcome = {
        synced: true,
        reason: 'Synced',
        message: `synced to ${words}`,
        defaultCaVersion: { now: built.defaultCaVersion },
      };
      return { outcome, errors: [] };
    }
    const { place, error } = first;
    const others = troubles.length === 1 ? '' : `; so did ${troubles.length - 1} others`;
    return {
      outcome: failed(
        `Sync${place.kind}TargetFailed`,
        `${place.kind} ${place.namespace}/${place.name} could not be written: ${(error as Error).message}${others}`,
      ),
      errors: troubles.map((trouble) => trouble.error),
    };
  }

  async #madeOf(bundle: BundleSeen, spec: Exclude<BundleSeen['spec'], string>): Promise<Made> {
    const { followed, kube } = this.#options;
    const from = `${bundle.uid} ${bundle.generation} ${followed.versions(spec.sources)}`;
    const known = this.#made.get(bundle.name);
    if (known?.from === from) return known;
    const built = await build(spec, sourcesOf(kube, followed));
    const contents = new Map<SourceKind, TargetContent>();
    if ('pool' in built) {
      const { configMap, secret, additionalFormats } = spec.target;
      if (configMap !== undefined)
        contents.set('ConfigMap', contentOf(built.pool, configMap, additionalFormats));
      if (secret !== undefined) contents.set('Secret', contentOf(built.pool, secret, additionalFormats));
    }
    const made = { from, built, contents };
    this.#made.set(bundle.name, made);
    return made;
  }

  /** Takes from former targets what was written there; one that is empty then goes. */
  async #clean(bundle: BundleSeen, places: readonly TargetPlace[]): Promise<void> {
    const { followed, kube, on } = this.#options;
    const wanted = new Set(places.map(textOf));
    const former = followed
      .targets(bundle.name)
      .filter((seen) => !wanted.has(textOf(seen)) && !seen.going && seen.controller === bundle.uid);
    for (const seen of former) {
      try {
        if (seen.keys.length > 0) await this.#empty(bundle, seen, kube);
      } catch (error) {
        if (isCode(error, 'KUBE_NOT_FOUND')) continue;
        if (!(error instanceof HandoverError)) throw error;
        // The namespace is no longer asked for: it does not hold up the others.
        on({ kind: 'failed', what: `${textOf(seen)} of Bundle ${bundle.name}`, error, retryAt: undefined });
      }
    }
  }

  async #empty(bundle: BundleSeen, seen: TargetSeen, kube: Kube): Promise<void> {
    const left = await this.#apply(seen, bodyOf(seen, bundle, seen.resourceVersion), kube);
    const { data = {}, binaryData = {}, metadata } = left as ConfigMap;
    if (Object.keys(data).length > 0 || Object.keys(binaryData).length > 0) return;
    const { uid, resourceVersion } = metadata;
    await kube.delete(API_KINDS[seen.kind], seen, { uid, resourceVersion });
  }

  /** Every target that is not right. One that cannot be written does not hold up the others. */
  async #write(
    bundle: BundleSeen,
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
    bundle: BundleSeen,
    place: TargetPlace,
    content: TargetContent,
    seen: TargetSeen | undefined,
  ): Promise<void> {
    const { kube, now } = this.#options;
    const isRestore = seen?.annotations[TRUST_MANAGER.hash] === content.hash;
    if (isRestore && !this.#restores.may(textOf(place), now()))
      throw new OperatorError(
        'OBJECT_OBSTACLE',
        'it is changed again and again; see metadata.managedFields for who does it, and stop one of the two',
      );
    const large = tooLarge(content);
    if (large !== undefined) throw new OperatorError('OBJECT_OBSTACLE', large);
    // One without the label is not watched.
    const there =
      seen === undefined
        ? await kube.get(API_KINDS[place.kind], { ...place, metadataOnly: true })
        : undefined;
    refuseForeign(there, place);
    const version = seen?.resourceVersion ?? there?.metadata.resourceVersion;
    await this.#apply(place, bodyOf(place, bundle, version, content), kube);
  }

  #apply({ kind, namespace, name }: TargetPlace, body: object, kube: Kube): Promise<object> {
    return kube.patch(
      API_KINDS[kind],
      { namespace, name },
      { apply: body, force: true, fieldManager: TRUST_MANAGER.manager },
    );
  }

  async #tell(bundle: BundleSeen, outcome: Outcome): Promise<void> {
    const { kube, now } = this.#options;
    const status = statusFor(bundle, outcome, now());
    if (status === undefined) return;
    const { name, uid } = bundle;
    const apiVersion = `${TRUST_MANAGER.group}/v1alpha1`;
    await kube.patch(
      bundles,
      { name, subresource: 'status' },
      {
        // The uid: never into a Bundle that was made anew under the same name.
        apply: { apiVersion, kind: 'Bundle', metadata: { name, uid }, status },
        force: true,
        fieldManager: TRUST_MANAGER.manager,
      },
    );
  }
}

const refuseForeign = (there: KubeObject | undefined, { kind, namespace, name }: TargetPlace): void => {
  if (there === undefined) return;
  if (there.metadata.labels?.[MANAGED_LABEL] === 'true')
    throw new OperatorError(
      'OBJECT_OBSTACLE',
      'it is kept for an Authority, a Leaf or a TrustBundle of Handover; give the Bundle another name',
    );
  if (!isGiven(there, name))
    throw new OperatorError(
      'OBJECT_OBSTACLE',
      `it was there before and is no target of a Bundle; to let the Bundle write its keys there: kubectl -n ${namespace} label ${kind.toLowerCase()} ${name} ${ADOPT}=true`,
    );
};

const textOf = ({ kind, namespace, name }: TargetPlace): string => `${kind} ${namespace}/${name}`;
