import { type Home, keepPlatformFacts, type Look, type PlatformFacts } from '@handover/engine';
import type { Kube } from '@handover/kube';
import { after, HandoverError, type Instant, isMap } from '@handover/material';
import { OperatorError } from '../error.ts';
import { CLUSTER_VERSIONS } from '../objects/openshift.ts';

const versionIn = (body: string): string => {
  try {
    const answer: unknown = JSON.parse(body);
    if (isMap(answer) && typeof answer.gitVersion === 'string' && answer.gitVersion !== '')
      return answer.gitVersion;
  } catch {
    // Said below.
  }
  throw new OperatorError('PLATFORM_UNKNOWN', 'the API server does not say its version; it is asked again', {
    retry: 'later',
  });
};

/** Nobody but OpenShift has a ClusterVersion; whether it may be read as well is another matter. */
async function openShiftVersion(kube: Kube, signal: AbortSignal): Promise<string | undefined> {
  try {
    const found = await kube.get(CLUSTER_VERSIONS, { name: 'version' }, { signal });
    const desired = isMap(found?.status) ? found.status.desired : undefined;
    const version = isMap(desired) ? desired.version : undefined;
    return typeof version === 'string' && version !== '' ? version : undefined;
  } catch (error) {
    if (error instanceof HandoverError && error.code === 'KUBE_FORBIDDEN') return undefined;
    throw error;
  }
}

/** Which platform this is. Nothing is guessed: without an answer it throws. */
export async function readPlatform(kube: Kube, signal: AbortSignal): Promise<PlatformFacts> {
  const { group, version, plural } = CLUSTER_VERSIONS;
  const openShift = await kube.serves(group, version, plural, { signal });
  const { body } = await kube.raw('GET', '/version', { signal });
  return {
    platform: openShift ? 'openshift' : 'kubernetes',
    kubernetesVersion: versionIn(body),
    openShiftVersion: openShift ? await openShiftVersion(kube, signal) : undefined,
  };
}

/** How long the facts are believed, and after how long they are asked for again when there was no answer. */
const BELIEVED_MS = 300_000;
const ASK_AGAIN_MS = 2_000;

/** Facts that nobody can be told now are no reason not to do everything else: here nothing throws but a lost race. */
export class PlatformKeeper {
  readonly #kube: Kube;
  readonly #signal: AbortSignal;
  readonly #onError: (what: string, error: unknown) => void;
  #known: { readonly facts: PlatformFacts; readonly until: number } | undefined;

  constructor(kube: Kube, signal: AbortSignal, onError: (what: string, error: unknown) => void) {
    this.#kube = kube;
    this.#signal = signal;
    this.#onError = onError;
  }

  /** Keeps them in these namespaces; when to look again. */
  async keep(home: Home, look: Look, namespaces: readonly string[], resync: Instant): Promise<Instant> {
    const facts = await this.#facts();
    if (facts === undefined) return after(home.clock.now(), ASK_AGAIN_MS);
    let lost: unknown;
    for (const namespace of namespaces) {
      try {
        await keepPlatformFacts(home, look, namespace, facts);
      } catch (error) {
        if (error instanceof HandoverError && error.code === 'CONFLICT') lost = error;
        else this.#onError(`platform facts in ${namespace}`, error);
      }
    }
    if (lost !== undefined) throw lost;
    return resync;
  }

  /** What was true last, where nobody answers. */
  async #facts(): Promise<PlatformFacts | undefined> {
    if (this.#known === undefined || performance.now() > this.#known.until) {
      try {
        const facts = await readPlatform(this.#kube, this.#signal);
        this.#known = { facts, until: performance.now() + BELIEVED_MS };
      } catch (error) {
        if (!this.#signal.aborted) this.#onError('which platform this is', error);
      }
    }
    return this.#known?.facts;
  }
}
