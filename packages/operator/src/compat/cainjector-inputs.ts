import { readFile } from 'node:fs/promises';
import { CAINJECTOR } from '@handover/core';
import { deployments, type Kube, type KubeConfig, type KubeObject, secrets } from '@handover/kube';
import { textOf } from '../cache/bounds.ts';
import type { Budget } from '../cache/budget.ts';
import { Projection } from '../cache/projection.ts';
import { Watched } from '../cache/watched.ts';
import type { CainjectorInputs } from './cainjector.ts';

export interface CainjectorWatchOptions {
  readonly kube: Kube;
  readonly budget?: Budget | undefined;
  readonly takeOver: boolean;
  /** Namespace of cert-manager: a cainjector counts there alone, because tenants can make Deployments elsewhere. */
  readonly namespace: string;
  /** Something changed that decides what is injected. */
  readonly onChange: () => void;
}

/** The Secret of one Certificate; of a Secret no more is kept than this. */
interface CertificateSecret {
  readonly certificate: string;
  readonly name: string;
  readonly createdAt: string;
}

interface Running {
  readonly name: string;
  readonly ready: boolean;
}

const CA_MS = 30_000;

const certificateSecret = ({ metadata }: KubeObject): CertificateSecret | undefined => {
  const { namespace, name = '', creationTimestamp: createdAt = '', annotations } = metadata;
  const certificate = textOf(annotations?.[CAINJECTOR.certificateName]);
  return certificate === undefined
    ? undefined
    : { certificate: `${namespace}/${certificate}`, name, createdAt };
};

const runningOf = ({ metadata, status }: KubeObject): Running => ({
  name: `${metadata.namespace}/${metadata.name}`,
  ready: ((status as { readyReplicas?: number } | undefined)?.readyReplicas ?? 0) > 0,
});

/** One that there is no room for is not found: then what names its Certificate stays as it is. */
export const CERTIFICATE_SECRETS = new Projection('Secret of a Certificate', { keep: certificateSecret });
export const CAINJECTORS = new Projection('Deployment of cainjector', { keep: runningOf });

/** The newest has the name that its Certificate names now: an earlier one stays behind when `secretName` changes. */
const newest = (found: readonly CertificateSecret[]): CertificateSecret | undefined =>
  [...found].sort((a, b) =>
    a.createdAt !== b.createdAt ? (a.createdAt > b.createdAt ? -1 : 1) : a.name < b.name ? -1 : 1,
  )[0];

const caOf = async ({ tls }: KubeConfig): Promise<string | undefined> => {
  if (tls.ca === undefined) return undefined;
  return 'pem' in tls.ca ? tls.ca.pem.reveal() : readFile(tls.ca.file, 'utf8');
};

/** What cainjector's annotations refer to, followed; nothing of it is looked at without `--compat cainjector`. */
export class FollowedCainjectorInputs implements CainjectorInputs {
  readonly takeOver: boolean;
  readonly #options: CainjectorWatchOptions;
  readonly #certificates: Watched<KubeObject, CertificateSecret>;
  readonly #deployments: Watched<KubeObject, Running>;
  #ca: string | undefined;

  constructor(options: CainjectorWatchOptions) {
    this.#options = options;
    const { kube, budget, namespace, onChange } = options;
    this.takeOver = options.takeOver;
    this.#certificates = new Watched<KubeObject, CertificateSecret>(kube, secrets, {
      metadataOnly: true,
      projection: CERTIFICATE_SECRETS,
      budget,
      indexes: { certificate: ({ certificate }) => [certificate] },
    });
    this.#deployments = new Watched<KubeObject, Running>(kube, deployments, {
      namespace,
      // As in cert-manager's chart and manifests.
      labelSelector: 'app.kubernetes.io/name=cainjector',
      projection: CAINJECTORS,
      budget,
    });
    this.#certificates.on('changed', ({ before, after }) => {
      if (before?.certificate !== after?.certificate) onChange();
    });
    this.#deployments.on('changed', ({ before, after }) => {
      if (before?.ready !== after?.ready) onChange();
    });
  }

  /** Follows all of it until `signal`; resolves once all is known. */
  async start(signal: AbortSignal): Promise<void> {
    const informers = [this.#certificates, this.#deployments];
    await Promise.all([this.#followCa(signal), ...informers.map((informer) => informer.start(signal).ready)]);
  }

  /** The file may change under us: kubelets rotate it. */
  async #followCa(signal: AbortSignal): Promise<void> {
    const { kube, onChange } = this.#options;
    const look = async (): Promise<void> => {
      const before = this.#ca;
      // Half a file, or none for a moment: the last one stays.
      this.#ca = (await caOf(kube.config).catch(() => undefined)) ?? before;
      if (before !== undefined && this.#ca !== before) onChange();
    };
    await look();
    const timer = kube.clock.every(CA_MS, () => void look()).unref();
    signal.addEventListener('abort', () => timer.cancel(), { once: true });
  }

  secretOf(certificate: string): string | undefined {
    return newest(this.#certificates.by('certificate', certificate))?.name;
  }

  apiServerCa(): string | undefined {
    return this.#ca;
  }

  running(): string | undefined {
    return this.#deployments.list().find(({ ready }) => ready)?.name;
  }
}
