import {
  type AuthorityId,
  type AuthorityRecord,
  type ExternalLeaf,
  objectOf,
  type Result,
  signExternal,
} from '@handover/engine';
import { type Kube, type KubeObject, podCertificateRequests, pods } from '@handover/kube';
import { after, duration, type Instant, isoSeconds, minute, second } from '@handover/material';
import { isCode } from '../error.ts';
import { cutMessage } from '../events/event.ts';
import type { KubeHome } from '../home/home.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { type Granted, judge, type Refused, type Verdict } from './judge.ts';
import type { PodRequest } from './request.ts';
import type { WatchedRequests } from './watched.ts';

/**
 * Share of its life after which the kubelet gets a new certificate. A rotation waits as long for a pod that reloads by itself: ten minutes for a
 * certificate of an hour, four hours for one of a day. Earlier costs more requests.
 */
const REFRESH_AT = 1 / 6;
/** The API server takes no earlier refresh. */
const EARLIEST_REFRESH_MS = 10 * minute;

/** RFC 3339 in whole seconds: the dates have to equal those in the certificate. */
const condition = (type: string, reason: string, message: string, now: Instant) => ({
  type,
  status: 'True',
  reason,
  message: cutMessage(message),
  lastTransitionTime: isoSeconds(now),
});

/** The status of a request, written once and whole: the API server takes no second one. */
const issuedStatus = ({ chain }: ExternalLeaf, now: Instant) => {
  const [leaf] = chain;
  if (leaf === undefined) throw new TypeError('a chain begins with its leaf');
  const { notBefore, notAfter } = leaf;
  return {
    conditions: [condition('Issued', 'Issued', 'signed by Handover', now)],
    certificateChain: chain.map(({ pem }) => pem).join(''),
    notBefore: isoSeconds(notBefore),
    beginRefreshAt: isoSeconds(
      notBefore + Math.max(EARLIEST_REFRESH_MS, (notAfter - notBefore) * REFRESH_AT),
    ),
    notAfter: isoSeconds(notAfter),
  };
};

const refusedStatus = ({ is, reason, message }: Refused, now: Instant) => ({
  conditions: [condition(is, reason, message, now)],
});

export interface PodSigningOptions {
  /** Writes only while this replica leads. */
  readonly kube: Kube;
  readonly home: KubeHome;
  readonly watched: WatchedRequests;
  readonly signal: AbortSignal;
  /** What the owner of the pod should know. */
  readonly tell: (request: PodRequest, verdict: Exclude<Verdict, { readonly is: 'moot' }>) => void;
}

/** For clocks that run late. The API server takes no date further than five minutes from its own time. */
const BACK = duration(3 * minute);
const NOTHING: Result = { requeueAt: undefined };
/** How long until a request that waits is looked at again: a quarter of its age. */
const SOONEST_MS = second;
const LATEST_MS = minute;

/** Answers PodCertificateRequests. */
export class PodSigning {
  readonly #options: PodSigningOptions;

  constructor(options: PodSigningOptions) {
    this.#options = options;
  }

  async reconcile(id: string): Promise<Result> {
    const { watched, home, tell } = this.#options;
    const found = watched.find(id);
    if (found === undefined || found.request.stand.is !== 'open')
      return watched.open().includes(id) ? this.#later(home.clock.now()) : NOTHING;
    const { request, version, services } = found;
    const resolved = await home.resolved();
    const record = await this.#state(resolved, request.authority);
    const circumstances = {
      authority: resolved.catalogue.authorities.get(request.authority),
      record,
      pod: await this.#pod(request),
      services,
      namespaces: resolved.catalogue.namespaces,
      now: home.clock.now(),
    };
    const verdict = judge(request, circumstances);
    if (verdict.is === 'moot') return NOTHING;
    if (verdict.is === 'waits') {
      tell(request, verdict);
      return this.#later(request.createdAt);
    }
    if (verdict.is !== 'granted') {
      await this.#write(version, request, refusedStatus(verdict, home.clock.now()));
      tell(request, verdict);
      return NOTHING;
    }
    await this.#grant(version, request, verdict, resolved);
    return NOTHING;
  }

  async #grant(
    version: string,
    request: PodRequest,
    { key, leaf, leftOut }: Granted,
    { catalogue }: ResolvedResources,
  ): Promise<void> {
    const { home } = this.#options;
    // The state is read once more, and after the request was seen: a pod that is younger than an activation never gets a leaf of the CA before.
    const signed = await signExternal(
      home,
      { authorities: home.authorities, catalogue },
      {
        authority: request.authority,
        leaf,
        publicKey: key,
        for: objectOf('Pod', `${request.namespace}/${request.pod.name}`, request.pod.uid),
        why: `the kubelet asked by PodCertificateRequest ${request.name}`,
        forPod: true,
        back: BACK,
      },
    );
    await this.#write(version, request, issuedStatus(signed, home.clock.now()));
    if (leftOut.length > 0) this.#options.tell(request, { is: 'granted', key, leaf, leftOut });
  }

  #later(since: Instant): Result {
    const now = this.#options.home.clock.now();
    return { requeueAt: after(now, Math.min(LATEST_MS, Math.max(SOONEST_MS, (now - since) / 4))) };
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
