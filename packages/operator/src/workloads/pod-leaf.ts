import type { AuthorityRecord } from '@handover/engine';
import type { Certificate, Instant } from '@handover/material';

/** The newest certificate of a pod that is known. */
export interface PodLeaf {
  readonly certificate: Certificate;
  readonly issuedAt: Instant;
}

/** Which certificate each pod got last. */
export interface PodLeafSource {
  /** Undefined: none is known that a CA of this authority has signed. `issuer`: fingerprint of that CA. */
  of(
    podUid: string,
    signer: string,
    record: AuthorityRecord,
  ): (PodLeaf & { readonly issuer: string }) | undefined;
  /** Whether each request of the pod that is known was refused; false: one was granted, or none is known. */
  refused(podUid: string, signer: string): boolean;
}
