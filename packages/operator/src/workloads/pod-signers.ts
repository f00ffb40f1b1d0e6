import { authorityOfSigner } from '@handover/core';
import type { AuthorityRecord } from '@handover/engine';
import type { KubeObject } from '@handover/kube';
import { type Certificate, type Instant, isMap, type Json } from '@handover/material';

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

/** A certificate of ours that a pod has for itself, by its signer. */
export interface PodSigner {
  readonly signer: string;
  /** How many certificates of it: each podCertificate source has one of its own. */
  readonly sources: number;
  /** A copy that never changes: by subPath, or made by an init container. */
  readonly frozen: boolean;
}

/** Of a pod that names more signers than it is worth to remember: each of ours may be among them. */
export const ANY_SIGNER: PodSigner = { signer: '*', sources: Number.MAX_SAFE_INTEGER, frozen: true };
const MOST_SIGNERS = 32;

/** What a pod has of this signer, as far as it is known. */
export const heldOf = (signers: readonly PodSigner[], signer: string): PodSigner | undefined =>
  signers.find((one) => one.signer === signer) ?? signers.find((one) => one === ANY_SIGNER);

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isMap) : []);

const signersOf = (volume: Json): readonly string[] =>
  list(isMap(volume.projected) ? volume.projected.sources : undefined).flatMap(({ podCertificate }) => {
    const signer = isMap(podCertificate) ? podCertificate.signerName : undefined;
    return typeof signer === 'string' && authorityOfSigner(signer) !== undefined ? [signer] : [];
  });

/** Signers of ours that a pod's volumes name. A volume that no container mounts counts: the kubelet gets its certificate all the same. */
export const signersIn = ({ spec }: KubeObject): readonly PodSigner[] => {
  if (!isMap(spec)) return [];
  const volumes = list(spec.volumes)
    .map((volume) => ({ name: volume.name, signers: signersOf(volume) }))
    .filter(({ signers }) => signers.length > 0);
  if (volumes.length === 0) return [];
  const copies = [
    ...list(spec.initContainers).map(
      (container) => [container, container.restartPolicy !== 'Always'] as const,
    ),
    ...[...list(spec.containers), ...list(spec.ephemeralContainers)].map(
      (container) => [container, false] as const,
    ),
  ].flatMap(([container, once]) =>
    list(container.volumeMounts)
      .filter(({ subPath, subPathExpr }) => once || Boolean(subPath) || Boolean(subPathExpr))
      .map(({ name }) => name),
  );
  const found = new Map<string, PodSigner>();
  for (const { name, signers } of volumes)
    for (const signer of signers) {
      const { sources = 0, frozen = false } = found.get(signer) ?? {};
      found.set(signer, { signer, sources: sources + 1, frozen: frozen || copies.includes(name) });
    }
  return found.size > MOST_SIGNERS ? [ANY_SIGNER] : [...found.values()];
};
