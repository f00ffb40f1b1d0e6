import { type AuthorityState, DISTRUST, ROTATE } from '@handover/core';
import {
  type AuthorityId,
  type AuthorityReader,
  checkRotationId,
  type Request,
  type RequestReader,
  type Requests,
  type RequestWriter,
} from '@handover/engine';
import { type Kube, secrets } from '@handover/kube';
import { requestsIn, stateName } from '../objects/authorities.ts';
import { changeRequests, withoutQueued, withRequest } from './request-list.ts';

interface KubeRequestOptions {
  readonly kube: Kube;
  /** Where states lie. */
  readonly namespace: string;
  readonly authorities: AuthorityReader;
  /** Whether the API server has the Authority; otherwise a file or a program declares it. */
  readonly isStored: (id: AuthorityId) => boolean;
  readonly signal: AbortSignal;
}

/**
 * Requests are annotations: on the Authority, from where they come with the resource, or on the Secret of its state. Of an Authority
 * that no API server has, they last as long as this process: the state remembers a rotation that has begun.
 */
export class KubeRequests implements RequestReader, RequestWriter {
  readonly #options: KubeRequestOptions;
  readonly #asked = new Map<AuthorityId, Requests>();

  constructor(options: KubeRequestOptions) {
    this.#options = options;
  }

  async pending(id: AuthorityId): Promise<Requests> {
    const { kube, namespace, signal } = this.#options;
    const secret = await kube.get(secrets, { namespace, name: stateName(id) }, { signal });
    const { rotate, distrust } = requestsIn(secret?.metadata.annotations);
    const asked = this.#asked.get(id);
    return {
      rotate: [...rotate, ...(asked?.rotate ?? [])],
      distrust: [...distrust, ...(asked?.distrust ?? [])],
    };
  }

  async ask(request: Request): Promise<void> {
    const { authority } = request;
    if ('rotate' in request) checkRotationId(request.rotate);
    if (this.#options.isStored(authority)) return this.#annotate(request);
    const { rotate, distrust } = this.#asked.get(authority) ?? { rotate: [], distrust: [] };
    this.#asked.set(
      authority,
      'rotate' in request
        ? { rotate: [...new Set([...rotate, request.rotate])], distrust }
        : { rotate, distrust: [...new Set([...distrust, request.distrust])] },
    );
  }

  async #annotate(request: Request): Promise<void> {
    const { kube, authorities, signal } = this.#options;
    const state = (await authorities.load(request.authority))?.state;
    const [key, value, isTaken] =
      'rotate' in request
        ? ([ROTATE, request.rotate, (id: string) => state?.ids.includes(id) === true] as const)
        : ([
            DISTRUST,
            String(request.distrust),
            (generation: string) =>
              state?.generations.some(
                ({ number, role }) => String(number) === generation && role !== 'distrusted',
              ) === false,
          ] as const);
    await changeRequests(
      kube,
      request.authority,
      key,
      (known) => (known.includes(value) ? undefined : withRequest(known, value, isTaken)),
      signal,
    );
  }

  async drop(id: AuthorityId, state: AuthorityState | undefined): Promise<readonly string[]> {
    const hasBegun = (rotation: string): boolean => state?.ids.includes(rotation) === true;
    if (!this.#options.isStored(id)) {
      const asked = this.#asked.get(id) ?? { rotate: [], distrust: [] };
      const { wanted = asked.rotate, dropped } = withoutQueued(asked.rotate, hasBegun);
      this.#asked.set(id, { ...asked, rotate: wanted });
      return dropped;
    }
    let dropped: readonly string[] = [];
    const change = (known: readonly string[]) => {
      const left = withoutQueued(known, hasBegun);
      dropped = left.dropped;
      return left.wanted;
    };
    await changeRequests(this.#options.kube, id, ROTATE, change, this.#options.signal);
    return dropped;
  }

  /** Annotations stay: the same id never rotates twice. */
  async done(id: AuthorityId, { ids, generations }: AuthorityState): Promise<void> {
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    const trusted = generations.flatMap(({ number, role }) => (role === 'distrusted' ? [] : [number]));
    this.#asked.set(id, {
      rotate: asked.rotate.filter((rotation) => !ids.includes(rotation)),
      distrust: asked.distrust.filter((generation) => trusted.includes(generation)),
    });
  }
}
