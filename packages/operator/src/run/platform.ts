import { type Home, type PlatformFacts, type Snapshot, writePlatformFacts } from '@handover/engine';
import type { Kube } from '@handover/kube';
import { after, type Instant, isMap } from '@handover/material';
import { isCode, OperatorError } from '../error.ts';
import { CLUSTER_VERSIONS } from '../objects/openshift.ts';

const versionIn = (body: string): string => {
  try {
    const answer: unknown = JSON.parse(body);
    if (isMap(answer) && typeof answer.gitVersion === 'string' && answer.gitVersion !== '')
      return answer.gitVersion;
  } catch {
    // The error below tells.
  }
  throw new OperatorError(
    'PLATFORM_UNKNOWN',
    'the API server does not tell its version; the operator asks again',
    {
      retry: 'later',
    },
  );
};

/** Only OpenShift has a ClusterVersion. The operator may lack the right to read it. */
async function openShiftVersion(kube: Kube, signal: AbortSignal): Promise<string | undefined> {
  try {
    const found = await kube.get(CLUSTER_VERSIONS, { name: 'version' }, { signal });
    const desired = isMap(found?.status) ? found.status.desired : undefined;
    const version = isMap(desired) ? desired.version : undefined;
    return typeof version === 'string' && version !== '' ? version : undefined;
  } catch (error) {
    if (isCode(error, 'KUBE_FORBIDDEN')) return undefined;
    throw error;
  }
}

/** Which platform this is. Throws without an answer: nothing is guessed. */
async function readPlatform(kube: Kube, signal: AbortSignal): Promise<PlatformFacts> {
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

/** Platform facts that cannot be read or written now hold nothing else up: only a lost race throws. */
export class PlatformReconciler {
  readonly #kube: Kube;
  readonly #signal: AbortSignal;
  readonly #onError: (what: string, error: unknown) => void;
  #known: { readonly facts: PlatformFacts; readonly until: number } | undefined;

  constructor(kube: Kube, signal: AbortSignal, onError: (what: string, error: unknown) => void) {
    this.#kube = kube;
    this.#signal = signal;
    this.#onError = onError;
  }

  /** Keeps the facts in these namespaces. Returns when to look again. */
  async reconcile(
    home: Home,
    snapshot: Snapshot,
    namespaces: readonly string[],
    resync: Instant,
  ): Promise<Instant> {
    const facts = await this.#facts();
    if (facts === undefined) return after(home.clock.now(), ASK_AGAIN_MS);
    let lost: unknown;
    for (const namespace of namespaces) {
      try {
        await writePlatformFacts(home, snapshot, namespace, facts);
      } catch (error) {
        if (isCode(error, 'CONFLICT')) lost = error;
        else this.#onError(`writing platform facts in namespace ${namespace}`, error);
      }
    }
    if (lost !== undefined) throw lost;
    return resync;
  }

  /** The last known facts, when the API server does not answer. */
  async #facts(): Promise<PlatformFacts | undefined> {
    if (this.#known === undefined || this.#kube.clock.monotonic() > this.#known.until) {
      try {
        const facts = await readPlatform(this.#kube, this.#signal);
        this.#known = { facts, until: this.#kube.clock.monotonic() + BELIEVED_MS };
      } catch (error) {
        if (!this.#signal.aborted) this.#onError('reading platform facts', error);
      }
    }
    return this.#known?.facts;
  }
}
