import { type AuthorityRecord, readableCertificates } from '@handover/engine';
import { bytesOf } from '@handover/material';
import type { PodLeaf, PodLeafSource } from '../workloads/pod-leaf.ts';
import type { PodRequest } from './request.ts';

const keyOf = (podUid: string, signer: string): string => `${podUid} ${signer}`;
/** Uids of pods that have gone are dropped when there are more than this. */
const MOST = 20_000;

/**
 * Which certificate each pod got last. Kubernetes deletes a request a quarter of an hour after its answer, so they are remembered for as long
 * as this process runs; of a pod that is not known here every doubt counts against it.
 */
export class PodLeaves implements PodLeafSource {
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
