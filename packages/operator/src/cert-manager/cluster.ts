import { CERT_MANAGER } from '@handover/core';
import {
  Informer,
  type Kube,
  type KubeObject,
  type ResourceKind,
  type Secret,
  type StoreChange,
  secrets,
} from '@handover/kube';
import { pause } from '@handover/runtime/pause';
import {
  type CertificateRequest,
  type CertManagerCertificate,
  certificateRequests,
  certificates,
} from './kinds.ts';

/** What is kept of a Secret that cert-manager writes: never its key. */
export interface LentSecret {
  readonly namespace: string;
  readonly name: string;
  readonly createdAt: number;
  readonly crt: Uint8Array | undefined;
  readonly ca: Uint8Array | undefined;
}

/** Everything of cert-manager that matters here, at one moment. */
export interface CertManagerView {
  readonly certificates: readonly CertManagerCertificate[];
  readonly requests: readonly CertificateRequest[];
  readonly secrets: readonly LentSecret[];
}

export interface ClusterOptions {
  readonly kube: Kube;
  /** Namespaces to look at; undefined: the whole cluster. */
  readonly namespaces: readonly string[] | undefined;
  readonly onRequest: (request: CertificateRequest) => void;
  /** A Certificate or a Secret of this namespace has changed. */
  readonly onLent: (namespace: string) => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

const LABEL = `${CERT_MANAGER.secretLabel}=true`;
/** How often it is asked whether cert-manager is there: it may be installed later. */
const ASK_MS = 60_000;

const namespaceOf = (key: string): string => key.split('/', 1)[0] ?? '';

const bytesIn = (secret: Secret, key: string): Uint8Array | undefined => {
  const text = secret.data?.[key];
  return text === undefined ? undefined : Buffer.from(text, 'base64');
};

const lentSecret = (secret: Secret): LentSecret => ({
  namespace: secret.metadata.namespace ?? '',
  name: secret.metadata.name ?? '',
  createdAt: Date.parse(secret.metadata.creationTimestamp ?? '') || 0,
  crt: bytesIn(secret, 'tls.crt'),
  ca: bytesIn(secret, 'ca.crt'),
});

/** Follows cert-manager's objects where its API is served, now or later. Without it nothing is asked but that. */
export class CertManagerCluster {
  readonly #options: ClusterOptions;
  readonly #scopes: readonly { readonly namespace?: string }[];
  #requests: readonly Informer<CertificateRequest>[] = [];
  #certificates: readonly Informer<CertManagerCertificate>[] = [];
  #secrets: readonly Informer<Secret, LentSecret>[] = [];
  /** Troubles that were told: a right that is missing is told once, not at every try. */
  readonly #told = new Set<string>();
  #settled: () => void = () => {};

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#scopes = options.namespaces?.map((namespace) => ({ namespace })) ?? [{}];
  }

  /** Resolves once its objects are known, or it is known that they cannot be. */
  start(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#settled = resolve;
      void this.#begin(signal);
    });
  }

  async #begin(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.#isServed(signal))) {
      this.#settled();
      await pause(ASK_MS, signal);
    }
    if (signal.aborted) return this.#settled();
    const { onRequest, onLent } = this.#options;
    this.#requests = this.#follow(certificateRequests, signal, {}, ({ after }) => after && onRequest(after));
    this.#certificates = this.#follow(certificates, signal, {}, ({ key }) => onLent(namespaceOf(key)));
    this.#secrets = this.#follow(secrets, signal, { labelSelector: LABEL, project: lentSecret }, ({ key }) =>
      onLent(namespaceOf(key)),
    );
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

  #follow<O extends KubeObject, T = O>(
    kind: ResourceKind<O>,
    signal: AbortSignal,
    options: { readonly labelSelector?: string; readonly project?: (object: O) => T },
    changed: (change: StoreChange<T>) => void,
  ): readonly Informer<O, T>[] {
    return this.#scopes.map((scope) => {
      const informer = new Informer<O, T>(this.#options.kube, kind, { ...scope, ...options });
      informer.on('changed', changed);
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

  get #informers(): readonly { readonly synced: boolean }[] {
    return [...this.#requests, ...this.#certificates, ...this.#secrets];
  }

  /** Requests that are known by now; others come as changes. */
  get requests(): readonly CertificateRequest[] {
    return this.#requests.flatMap((one) => one.list());
  }

  /** As the watches have it; undefined: nothing is known, because the API is not served, not readable, or not read yet. */
  cached(): CertManagerView | undefined {
    const all = this.#informers;
    if (all.length === 0 || !all.every(({ synced }) => synced)) return undefined;
    return {
      certificates: this.#certificates.flatMap((one) => one.list()),
      requests: this.#requests.flatMap((one) => one.list()),
      secrets: this.#secrets.flatMap((one) => one.list()),
    };
  }

  /** As the API server has it now. */
  async fresh(signal: AbortSignal): Promise<CertManagerView | undefined> {
    if (this.cached() === undefined) return undefined;
    const { kube } = this.#options;
    const listed = await Promise.all(
      this.#scopes.map(async (scope) => ({
        certificates: (await kube.list(certificates, scope, { signal })).items,
        requests: (await kube.list(certificateRequests, scope, { signal })).items,
        secrets: (await kube.list(secrets, { ...scope, labelSelector: LABEL }, { signal })).items.map(
          lentSecret,
        ),
      })),
    );
    return {
      certificates: listed.flatMap((one) => one.certificates),
      requests: listed.flatMap((one) => one.requests),
      secrets: listed.flatMap((one) => one.secrets),
    };
  }

  /** A Secret without the label, as versions of cert-manager before 1.12 write it. */
  async secret(namespace: string, name: string, signal: AbortSignal): Promise<LentSecret | undefined> {
    const found = await this.#options.kube.get(secrets, { namespace, name }, { signal });
    return found === undefined ? undefined : lentSecret(found);
  }
}
