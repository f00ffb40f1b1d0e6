import { CERT_MANAGER } from '@handover/core';
import { inParallel } from '@handover/engine';
import {
  type Kube,
  type KubeObject,
  objectKeyOf,
  type ResourceKind,
  type Secret,
  type StoreChange,
  secrets,
} from '@handover/kube';
import { HandoverError } from '@handover/material';
import type { Budget } from '../cache/budget.ts';
import type { Projection } from '../cache/projection.ts';
import { Watched } from '../cache/watched.ts';
import {
  type CertificateRequest,
  type CertManagerCertificate,
  certificateRequests,
  certificates,
} from './kinds.ts';
import {
  CERTIFICATES,
  type ExternallyHeldSecret,
  LEAF_SECRETS,
  projectSecret,
  REQUESTS,
} from './projections.ts';

/** Everything of cert-manager that matters here, at one moment. */
export interface CertManagerView {
  readonly certificates: readonly CertManagerCertificate[];
  readonly requests: readonly CertificateRequest[];
  readonly secrets: readonly ExternallyHeldSecret[];
  /** Namespaces that have more of them than there is room for. */
  readonly unknown?: ReadonlySet<string> | undefined;
  /** Why this is only what was last seen. Undefined: it is as the API server, or the watch, has it. */
  readonly trouble?: string | undefined;
}

export interface ClusterOptions {
  readonly kube: Kube;
  readonly budget?: Budget | undefined;
  /** Namespaces to look at; undefined: the whole cluster. */
  readonly namespaces: readonly string[] | undefined;
  readonly onRequest: (request: CertificateRequest) => void;
  /** A Certificate or a Secret of this namespace has changed. */
  readonly onExternallyHeld: (namespace: string) => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

const LABEL = `${CERT_MANAGER.secretLabel}=true`;
/** How often it is asked whether cert-manager is there: it may be installed later. */
const ASK_MS = 60_000;

/** Reads of single objects. */
const AT_ONCE = 10;

const keptBy = <T>(informers: readonly { list(): readonly (T | null)[] }[]): readonly T[] =>
  informers.flatMap((one) => one.list().flatMap((kept) => (kept === null ? [] : [kept])));

const namespaceOf = (key: string): string => key.split('/', 1)[0] ?? '';

interface Followed<O extends KubeObject, T> {
  readonly projection: Projection<O, T | null>;
  readonly changed: (change: StoreChange<T | null>) => void;
  readonly labelSelector?: string;
}

/** Follows cert-manager's objects where its API is served, now or later. Without it nothing is asked but that. */
export class CertManagerCluster {
  readonly #options: ClusterOptions;
  readonly #scopes: readonly { readonly namespace?: string }[];
  /** Null: an object of others, of which only the version is known. */
  #requests: readonly Watched<CertificateRequest, CertificateRequest | null>[] = [];
  #certificates: readonly Watched<CertManagerCertificate, CertManagerCertificate | null>[] = [];
  #secrets: readonly Watched<Secret, ExternallyHeldSecret | null>[] = [];
  /** Troubles that were told: a right that is missing is told once, not at every try. */
  readonly #told = new Set<string>();
  #settled: () => void = () => {};
  #started: Promise<void> | undefined;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#scopes = options.namespaces?.map((namespace) => ({ namespace })) ?? [{}];
  }

  /** Resolves once its objects are known, or it is known that they cannot be. */
  start(signal: AbortSignal): Promise<void> {
    this.#started = new Promise((resolve) => {
      this.#settled = resolve;
      void this.#begin(signal);
    });
    return this.#started;
  }

  async #begin(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.#isServed(signal))) {
      this.#settled();
      await this.#options.kube.clock.sleep(ASK_MS, signal);
    }
    if (signal.aborted) return this.#settled();
    const { onRequest, onExternallyHeld } = this.#options;
    const changed = ({ key }: { readonly key: string }): void => onExternallyHeld(namespaceOf(key));
    const asked = ({ after }: StoreChange<CertificateRequest | null>): void => {
      if (after) onRequest(after);
    };
    this.#requests = this.#follow(certificateRequests, signal, { projection: REQUESTS, changed: asked });
    this.#certificates = this.#follow(certificates, signal, { projection: CERTIFICATES, changed });
    this.#secrets = this.#follow(secrets, signal, {
      projection: LEAF_SECRETS,
      changed,
      labelSelector: LABEL,
    });
    const all = [...this.#requests, ...this.#certificates, ...this.#secrets];
    await Promise.allSettled(all.map(({ ready }) => ready));
    this.#settled();
  }

  async #isServed(signal: AbortSignal): Promise<boolean> {
    const { group, version } = CERT_MANAGER;
    try {
      return await this.#options.kube.serves(group, version, 'certificaterequests', { signal });
    } catch {
      return false; // the API server is away: other watches tell of it
    }
  }

  #follow<O extends KubeObject, T>(
    kind: ResourceKind<O>,
    signal: AbortSignal,
    { projection, changed, labelSelector }: Followed<O, T>,
  ): readonly Watched<O, T | null>[] {
    const { kube, budget } = this.#options;
    return this.#scopes.map((scope) => {
      const informer = new Watched<O, T | null>(kube, kind, { ...scope, labelSelector, projection, budget });
      informer.on('changed', changed);
      informer.on('unknown', this.#options.onExternallyHeld);
      informer.on('trouble', (error) => this.#trouble(`watch of ${kind.plural} (cert-manager)`, error));
      return informer.start(signal);
    });
  }

  #trouble(what: string, error: Error): void {
    this.#settled();
    const key = `${what} ${error.message}`;
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.#options.onTrouble(what, error);
  }

  get #informers(): readonly { readonly synced: boolean; readonly unknown: readonly string[] }[] {
    return [...this.#requests, ...this.#certificates, ...this.#secrets];
  }

  /** Requests that are known by now; others come as changes. */
  get requests(): readonly CertificateRequest[] {
    return keptBy(this.#requests);
  }

  /** As the watches have it; undefined: nothing is known, because the API is not served, not readable, or not read yet. */
  cached(): CertManagerView | undefined {
    const all = this.#informers;
    if (all.length === 0 || !all.every(({ synced }) => synced)) return undefined;
    return {
      certificates: keptBy(this.#certificates),
      requests: keptBy(this.#requests),
      secrets: keptBy(this.#secrets),
      unknown: new Set(all.flatMap(({ unknown }) => unknown)),
    };
  }

  /** As the API server has it now; or, whatever is wrong with cert-manager's API, as it was last seen, and why. */
  async fresh(signal: AbortSignal): Promise<CertManagerView | undefined> {
    await this.#started;
    const last = this.cached();
    if (last === undefined) return undefined;
    try {
      return {
        certificates: await this.#listed(certificates, this.#certificates, CERTIFICATES, signal),
        requests: await this.#listed(certificateRequests, this.#requests, REQUESTS, signal),
        secrets: await this.#listed(secrets, this.#secrets, LEAF_SECRETS, signal, LABEL),
        unknown: last.unknown,
      };
    } catch (error) {
      if (signal.aborted || !(error instanceof HandoverError)) throw error;
      this.#trouble('reading the objects of cert-manager', error);
      return { ...last, trouble: `cert-manager's Certificates cannot be read: ${error.message}` };
    }
  }

  /** Names and versions are listed; only what changed since a watch showed it is read, and parsed, again. A page of whole objects can have 500 MB. */
  async #listed<O extends KubeObject, T>(
    kind: ResourceKind<O>,
    informers: readonly Watched<O, T | null>[],
    projection: Projection<O, T | null>,
    signal: AbortSignal,
    labelSelector?: string,
  ): Promise<readonly T[]> {
    const { kube } = this.#options;
    const kept: T[] = [];
    const changed: KubeObject[] = [];
    for (const [index, scope] of this.#scopes.entries()) {
      const which = { ...scope, labelSelector, metadataOnly: true };
      for await (const { items } of kube.pages(kind, which, { signal }))
        for (const object of items) {
          const { resourceVersion = '' } = object.metadata;
          const known = informers[index]?.unchanged(objectKeyOf(object), resourceVersion);
          if (known === undefined) changed.push(object);
          // Its namespace is unknown already: to read it again at each look would be the work of all.
          else if (known !== null && known !== 'unknown') kept.push(known);
        }
    }
    await inParallel(changed, AT_ONCE, async ({ metadata: { namespace, name = '' } }) => {
      const found = await kube.get(kind, { namespace, name }, { signal });
      const one = found === undefined ? undefined : projection.keep(found);
      if (one !== undefined && one !== null) kept.push(one);
    });
    return kept;
  }

  /** A Secret without the label, as versions of cert-manager before 1.12 write it. */
  async secret(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<ExternallyHeldSecret | undefined> {
    const found = await this.#options.kube.get(secrets, { namespace, name }, { signal });
    return found === undefined ? undefined : projectSecret(found);
  }
}
