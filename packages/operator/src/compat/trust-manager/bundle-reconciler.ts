import { TRUST_MANAGER } from '@handover/core';
import { type Selector, WorkQueue } from '@handover/engine';
import { type ConfigMap, configMaps, type KubeReader, type Secret, secrets } from '@handover/kube';
import { after, bytesOf, type Instant } from '@handover/material';
import { OperatorError } from '../../error.ts';
import { type BundleSeen, bundles, type Outcome, statusFor } from './bundle.ts';
import type { FollowedBundles } from './followed-bundles.ts';
import { type Built, build, type SourceKind, type SourceObject, type Sources } from './sources.ts';
import { TargetWriter, type WriterOptions } from './target-writer.ts';
import { contentOf, type TargetContent } from './targets.ts';

const decoded = (data: Readonly<Record<string, string>> = {}): readonly (readonly [string, Uint8Array])[] =>
  Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64')]);

const named = async (
  kube: KubeReader,
  kind: SourceKind,
  namespace: string,
  name: string,
): Promise<SourceObject | undefined> => {
  const id = `${namespace}/${name}`;
  if (kind === 'Secret') {
    const secret: Secret | undefined = await kube.get(secrets, { namespace, name });
    return secret && { kind, id, type: secret.type, data: new Map(decoded(secret.data)) };
  }
  const found: ConfigMap | undefined = await kube.get(configMaps, { namespace, name });
  if (found === undefined) return undefined;
  const texts = Object.entries(found.data ?? {}).map(([key, text]) => [key, bytesOf(text)] as const);
  return { kind, id, data: new Map([...decoded(found.binaryData), ...texts]) };
};

/** Reads from the trust namespace alone, each time: contents are not kept. */
export const sourcesOf = (kube: KubeReader, followed: FollowedBundles): Sources => {
  const namespace = followed.options.trustNamespace;
  const selected = async (kind: SourceKind, selector: Selector): Promise<readonly SourceObject[]> => {
    const names = followed.selected(kind, selector);
    const found = await Promise.all(names.map((name) => named(kube, kind, namespace, name)));
    return found.filter((object) => object !== undefined);
  };
  return {
    namespace,
    named: (kind, name) => named(kube, kind, namespace, name),
    selected,
    defaultCas: followed.options.defaultCas(),
  };
};

const RESYNC_MS = 60_000;
/** While trust-manager runs; its end is heard of at once. */
const RIVAL_MS = 300_000;

/** What the sources of a Bundle gave, and the contents made of it: kept while nothing that they name changes. */
interface Made {
  readonly from: string;
  readonly built: Built;
  readonly contents: ReadonlyMap<SourceKind, TargetContent>;
}

/** Keeps the targets of trust-manager's Bundles, for as long as this replica leads. */
export class BundleReconciler {
  readonly #options: WriterOptions;
  readonly #queue: WorkQueue;
  readonly #made = new Map<string, Made>();
  readonly #writer: TargetWriter;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#writer = new TargetWriter(options);
    const { kube, now, on } = options;
    this.#queue = new WorkQueue({
      now,
      clock: kube.clock,
      random: Math.random,
      work: (name) => this.#reconcile(name),
      onError: (name, error, retryAt) => on({ kind: 'failed', what: `Bundle ${name}`, error, retryAt }),
      laneOf: (name) => name,
      limits: { inAll: 4, each: 4 },
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

  async #reconcile(name: string): Promise<Instant | undefined> {
    const { followed, now } = this.#options;
    const bundle = followed.bundle(name);
    if (bundle?.going === true) return undefined;
    if (bundle === undefined) this.#made.delete(name);
    if (bundle === undefined && this.#writer.left(name).length === 0) return undefined;
    const rival = followed.rival();
    if (rival !== undefined) {
      this.#sayRival(rival);
      return after(now(), RIVAL_MS);
    }
    if (bundle === undefined) {
      if (followed.knowsAll) await this.#writer.cleanLeft(name);
      return after(now(), RESYNC_MS);
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
    await this.#writer.clean(bundle, places);
    const troubles = await this.#writer.write(bundle, places, contents);
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
        // The uid: never into a Bundle that was recreated under the same name.
        apply: { apiVersion, kind: 'Bundle', metadata: { name, uid }, status },
        force: true,
        fieldManager: TRUST_MANAGER.manager,
      },
    );
  }
}
