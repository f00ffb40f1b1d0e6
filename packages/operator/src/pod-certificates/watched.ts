import { type AuthorityRecord, readableCertificates } from '@handover/engine';
import { type Kube, type KubeObject, podCertificateRequests, services } from '@handover/kube';
import { bytesOf } from '@handover/material';
import type { Budget } from '../cache/budget.ts';
import { Watched } from '../cache/watched.ts';
import { isCode } from '../error.ts';
import type { PodLeaf, PodLeafSource } from '../workloads/pod-signers.ts';
import { SERVICES, type ServiceSeen } from './identity.ts';
import { POD_REQUESTS, type PodRequest } from './request.ts';

const keyOf = (podUid: string, signer: string): string => `${podUid} ${signer}`;
/** Uids of pods that have gone are dropped when there are more than this. */
const MOST = 20_000;

/**
 * Which certificate each pod got last. Kubernetes deletes a request a quarter of an hour after its answer, so they are remembered for as long
 * as this process runs; of a pod that is not known here every doubt counts against it.
 */
class PodLeaves implements PodLeafSource {
  readonly #known = new Map<string, PodLeaf>();
  readonly #refused = new Set<string>();

  saw({ stand, pod, signer }: PodRequest): void {
    const key = keyOf(pod.uid, signer);
    if (this.#refused.size >= MOST) this.#refused.clear();
    if (stand.is === 'refused') this.#refused.add(key);
    if (stand.is !== 'issued') return;
    const [certificate] = readableCertificates(bytesOf(stand.chain));
    const before = this.#known.get(key);
    if (certificate === undefined || (before !== undefined && before.issuedAt > stand.at)) return;
    if (this.#known.size >= MOST) {
      this.#known.clear();
      // Without what was granted, a refusal says nothing.
      this.#refused.clear();
    }
    this.#known.set(key, { certificate, issuedAt: stand.at });
  }

  refused(podUid: string, signer: string): boolean {
    const key = keyOf(podUid, signer);
    return this.#refused.has(key) && !this.#known.has(key);
  }

  /** Only what a CA of this authority has signed counts: a user with rights on the status of requests could put anything there. */
  of(
    podUid: string,
    signer: string,
    record: AuthorityRecord,
  ): (PodLeaf & { readonly issuer: string }) | undefined {
    const found = this.#known.get(keyOf(podUid, signer));
    if (found === undefined) return undefined;
    for (const { anchors } of record.state.generations)
      for (const { fingerprint } of anchors) {
        const ca = record.certificates.get(fingerprint);
        if (ca !== undefined && found.certificate.openssl.isSignedBy(ca.openssl))
          return { ...found, issuer: fingerprint };
      }
    return undefined;
  }
}

/** Until the API server has the kind: an upgrade of the cluster brings it. */
const ASK_AGAIN_MS = 60_000;
const VERSIONS = ['v1', 'v1beta1'] as const;

interface WatchedRequestsOptions {
  readonly kube: Kube;
  readonly budget?: Budget | undefined;
  /** An open request, by `namespace/name`. */
  readonly onRequest: (id: string) => void;
  /** A pod got a certificate, or a refusal. */
  readonly onAnswered: (request: PodRequest) => void;
  readonly onTrouble: (what: string, error: Error) => void;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

interface Following {
  readonly version: string;
  readonly requests: Watched<KubeObject, PodRequest>;
  readonly services: Watched<KubeObject, ServiceSeen>;
}

/** PodCertificateRequests of our signers and the Services of the cluster, where the API server has such requests and shows them to us. */
export class WatchedRequests {
  readonly #options: WatchedRequestsOptions;
  readonly leaves = new PodLeaves();
  readonly #wanted = new AbortController();
  #following: Following | undefined;
  #said = '';

  constructor(options: WatchedRequestsOptions) {
    this.#options = options;
  }

  /** Nothing waits for this: most clusters have no such requests. */
  start(signal: AbortSignal): void {
    void this.#run(signal);
  }

  /** From now on: an Authority signs for pods. Until then no right is needed for it. */
  want(): void {
    this.#wanted.abort();
  }

  async #run(signal: AbortSignal): Promise<void> {
    await aborted(AbortSignal.any([signal, this.#wanted.signal]));
    while (!signal.aborted) {
      const version = await this.#served(signal);
      if (version !== undefined) await this.#follow(version, signal);
      await this.#options.kube.clock.sleep(ASK_AGAIN_MS, signal);
    }
  }

  async #served(signal: AbortSignal): Promise<string | undefined> {
    try {
      for (const version of VERSIONS)
        if (
          await this.#options.kube.serves('certificates.k8s.io', version, 'podcertificaterequests', {
            signal,
          })
        )
          return version;
    } catch (error) {
      this.#trouble(error as Error, signal);
    }
    return undefined;
  }

  /** Ends with the signal, or when the API server has no requests of this version any more. */
  async #follow(version: string, signal: AbortSignal): Promise<void> {
    const { kube, budget, onRequest, onAnswered } = this.#options;
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    const requests = new Watched(kube, podCertificateRequests(version), { projection: POD_REQUESTS, budget });
    const selecting = new Watched(kube, services, { projection: SERVICES, budget });
    requests.on('changed', ({ before, after }) => {
      if (after === undefined) return;
      if (after.stand.is === 'open') onRequest(`${after.namespace}/${after.name}`);
      else if (before === undefined || before.stand.is === 'open') {
        this.leaves.saw(after);
        onAnswered(after);
      }
    });
    requests.on('trouble', (error) => {
      if (isCode(error, 'KUBE_NOT_FOUND')) over.abort();
      else this.#trouble(error, signal);
    });
    selecting.on('trouble', (error) => this.#trouble(error, signal));
    requests.on('synced', () => {
      this.#said = '';
    });
    this.#following = { version, requests, services: selecting };
    requests.start(until);
    selecting.start(until);
    await aborted(until);
    this.#following = undefined;
  }

  /** A right that is missing is missing for long: it is said once. */
  #trouble(error: Error, signal: AbortSignal): void {
    if (signal.aborted || error.message === this.#said) return;
    this.#said = error.message;
    const advice = isCode(error, 'KUBE_FORBIDDEN') ? ' (install with --pod-certificates)' : '';
    this.#options.onTrouble(`watching PodCertificateRequests${advice}`, error);
  }

  /** Version of the API, a request, and the Services; undefined: not all of it is known, or the request is gone. */
  find(
    id: string,
  ):
    | { readonly version: string; readonly request: PodRequest; readonly services: readonly ServiceSeen[] }
    | undefined {
    const following = this.#following;
    const request = following?.requests.get(id);
    if (following === undefined || request === undefined || !following.services.synced) return undefined;
    return { version: following.version, request, services: following.services.list() };
  }

  /** Requests without an answer. */
  open(): readonly string[] {
    return (this.#following?.requests.list() ?? [])
      .filter(({ stand }) => stand.is === 'open')
      .map(({ namespace, name }) => `${namespace}/${name}`);
  }
}
