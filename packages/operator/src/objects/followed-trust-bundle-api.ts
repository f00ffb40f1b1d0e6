import type { KubeReader } from '@handover/kube';
import { type TrustBundleApi, trustBundleVersion } from './kinds.ts';

/** A little longer than the client remembers what the API server serves. */
const AGAIN_MS = 61_000;

/** Which version of ClusterTrustBundles is served, as it was seen last. Asked again where there is reason to, and not otherwise. */
export class FollowedTrustBundleApi implements TrustBundleApi {
  readonly #kube: KubeReader;
  readonly #signal: AbortSignal;
  readonly #onChange: () => Promise<void>;
  #version: string | undefined;
  #asking = false;

  constructor(
    kube: KubeReader,
    version: string | undefined,
    signal: AbortSignal,
    onChange: () => Promise<void>,
  ) {
    this.#kube = kube;
    this.#version = version;
    this.#signal = signal;
    this.#onChange = onChange;
  }

  get version(): string | undefined {
    return this.#version;
  }

  /** While there is none, the API server is asked again every minute. */
  isServed(): boolean {
    if (this.#version === undefined) this.askAgain();
    return this.#version !== undefined;
  }

  /** There is reason to think that another version is served, or none. */
  askAgain(): void {
    if (this.#asking) return;
    this.#asking = true;
    void this.#askNow();
  }

  async #askNow(): Promise<void> {
    const before = this.#version;
    do {
      await this.#kube.clock.sleep(AGAIN_MS, this.#signal);
      if (this.#signal.aborted) return;
      // An API server that does not answer serves what it did: its watches tell of the trouble.
      this.#version = await trustBundleVersion(this.#kube, this.#signal).catch(() => before);
    } while (this.#version === undefined && before === undefined);
    this.#asking = false;
    if (this.#version === before) return;
    try {
      await this.#onChange();
    } catch (error) {
      // Watches that are told to stop reject.
      if (!this.#signal.aborted) throw error;
    }
  }
}
