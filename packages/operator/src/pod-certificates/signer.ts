import { type AuthorityId, type AuthorityRecord, type Passed, rememberLent } from '@handover/engine';
import { type Kube, type KubeObject, podCertificateRequests, pods } from '@handover/kube';
import { after, type Instant, minute, second } from '@handover/material';
import { isCode } from '../error.ts';
import type { KubeHome } from '../home/home.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { type Granted, judge, type Verdict } from './judge.ts';
import type { PodRequest } from './request.ts';
import { endOf, sign } from './sign.ts';
import { issuedStatus, refusedStatus } from './status.ts';
import type { WatchedRequests } from './watched.ts';

export interface PodSigningOptions {
  /** Writes only while this replica leads. */
  readonly kube: Kube;
  readonly home: Pick<KubeHome, 'authorities' | 'keyring' | 'random' | 'clock' | 'ledger' | 'resolved'>;
  readonly watched: WatchedRequests;
  readonly signal: AbortSignal;
  /** What the owner of the pod should know. */
  readonly tell: (request: PodRequest, verdict: Exclude<Verdict, { readonly is: 'moot' }>) => void;
}

const NOTHING: Passed = { again: undefined };
/** How long until a request that waits is looked at again: a quarter of its age. */
const SOONEST_MS = second;
const LATEST_MS = minute;

/** Answers PodCertificateRequests. */
export class PodSigning {
  readonly #options: PodSigningOptions;

  constructor(options: PodSigningOptions) {
    this.#options = options;
  }

  async keep(id: string): Promise<Passed> {
    const { watched, home, tell } = this.#options;
    const found = watched.find(id);
    if (found === undefined || found.request.stand.is !== 'open')
      return watched.open().includes(id) ? this.#later(home.clock.now()) : NOTHING;
    const { request, version, services } = found;
    const resolved = await home.resolved();
    // Read after the request was seen: a pod that is younger than an activation never gets a leaf of the CA before it.
    const record = await this.#state(resolved, request.authority);
    const circumstances = {
      authority: resolved.catalogue.authorities.get(request.authority),
      record,
      pod: await this.#pod(request),
      services,
      namespaces: resolved.catalogue.namespaces,
    };
    const verdict = judge(request, circumstances);
    if (verdict.is === 'moot') return NOTHING;
    if (verdict.is === 'waits' || record === undefined) {
      tell(request, verdict);
      return this.#later(request.createdAt);
    }
    if (verdict.is !== 'granted') {
      await this.#write(version, request, refusedStatus(verdict, home.clock.now()));
      tell(request, verdict);
      return NOTHING;
    }
    return this.#grant(version, request, verdict, record);
  }

  async #grant(
    version: string,
    request: PodRequest,
    granted: Granted,
    record: AuthorityRecord,
  ): Promise<Passed> {
    const { home, tell } = this.#options;
    const { authorities } = home;
    const lent = await rememberLent(
      authorities,
      request.authority,
      record,
      endOf(home, granted.lifetime),
      false,
    );
    const signed = await sign(home, request, granted, lent);
    if (signed === undefined) {
      const why = `the CA of Authority ${request.authority} ends within the hour that Kubernetes demands of a certificate; its successor will sign`;
      tell(request, { is: 'waits', why });
      return this.#later(request.createdAt);
    }
    await this.#write(version, request, issuedStatus(signed, home.clock.now()));
    if (granted.leftOut.length > 0) tell(request, granted);
    return NOTHING;
  }

  #later(since: Instant): Passed {
    const now = this.#options.home.clock.now();
    return { again: after(now, Math.min(LATEST_MS, Math.max(SOONEST_MS, (now - since) / 4))) };
  }

  async #state(resolved: ResolvedResources, authority: AuthorityId): Promise<AuthorityRecord | undefined> {
    const declared = resolved.catalogue.authorities.get(authority);
    // A name that no resource has is not looked up, and one that signs no pods has nothing to do with this.
    return declared?.spec.podCertificates === undefined
      ? undefined
      : this.#options.home.authorities.load(authority);
  }

  /** The pod as it is now. A list, because the operator may not get single pods. */
  async #pod({ namespace, pod }: PodRequest): Promise<KubeObject | undefined> {
    const { kube, signal } = this.#options;
    const fieldSelector = `metadata.name=${pod.name}`;
    const { items } = await kube.list(pods, { namespace, fieldSelector }, { signal });
    return items[0];
  }

  async #write(
    version: string,
    { namespace, name, version: expect }: PodRequest,
    status: object,
  ): Promise<void> {
    const { kube, signal } = this.#options;
    try {
      await kube.patch(
        podCertificateRequests(version),
        { namespace, name, subresource: 'status' },
        { merge: { metadata: { resourceVersion: expect }, status }, fieldManager: FIELD_MANAGER, signal },
      );
    } catch (error) {
      // Answered or deleted meanwhile: an answer is final, and the watch brings it.
      if (!isCode(error, 'KUBE_CONFLICT', 'KUBE_NOT_FOUND')) throw error;
    }
  }
}
