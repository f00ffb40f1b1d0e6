import { type Certificate, type Instant, instant } from '@handover/material';
import { caParts } from './certificate-parts.ts';
import {
  authorityKeyIdentifier,
  CA_CONSTRAINTS,
  CA_KEY_USAGE,
  caCommonName,
  distinguishedName,
  subjectKeyIdentifier,
} from './extensions.ts';
import { nameConstraintsExtension, type PermittedNames } from './name-constraints.ts';
import { keyIdOfSpki, spkiOf } from './public-key.ts';
import { signed, type Unsigned, unsigned } from './signed.ts';
import type { Signer } from './signer.ts';

export interface CaInput {
  readonly name: string;
  readonly generation: number;
  /** Of the key that the CA is for. */
  readonly signer: Signer;
  /** 8 to 20 random bytes. */
  readonly serial: Uint8Array;
  /** An hour back from now, for clocks that run late. */
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** Names that it may sign; undefined: any. */
  readonly nameConstraints?: PermittedNames | undefined;
}

const caExtensions = (
  keyId: Uint8Array,
  issuerKeyId: Uint8Array,
  constraints: readonly Uint8Array[],
): readonly Uint8Array[] => [
  ...constraints,
  CA_CONSTRAINTS,
  CA_KEY_USAGE,
  subjectKeyIdentifier(keyId),
  authorityKeyIdentifier(issuerKeyId),
];

/** The CA of one generation, to be signed by itself. */
export const unsignedCa = (input: CaInput): Unsigned => {
  const { name, generation, signer } = input;
  const spki = spkiOf(signer.publicKey);
  const keyId = keyIdOfSpki(spki);
  const subject = distinguishedName({ commonName: caCommonName(name, generation, keyId) });
  const body = {
    serial: input.serial,
    issuer: subject,
    subject,
    spki,
    notBefore: input.notBefore,
    notAfter: input.notAfter,
    extensions: caExtensions(keyId, keyId, nameConstraintsExtension(input.nameConstraints)),
  };
  return unsigned(body, signer, signer.publicKey, `${name} ${generation}`);
};

/** The self-signed CA of one generation, DER. */
export const issueCa = async (input: CaInput): Promise<Uint8Array> => signed(unsignedCa(input));

export interface CrossInput {
  /** CA n+1, whose name and key the cross-certificate carries. */
  readonly subject: Certificate;
  /** CA n, which verifiers already hold. */
  readonly issuer: Certificate;
  /** Of CA n. */
  readonly signer: Signer;
  readonly serial: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

/** Its dates are cut to where both CAs are valid: outside, the chain through it is dead anyway. */
export const unsignedCross = (input: CrossInput): Unsigned => {
  const subject = caParts(input.subject);
  const issuer = caParts(input.issuer);
  const body = {
    serial: input.serial,
    issuer: issuer.name,
    subject: subject.name,
    spki: subject.spki,
    notBefore: instant(Math.max(input.notBefore, input.issuer.notBefore, input.subject.notBefore)),
    notAfter: instant(Math.min(input.notAfter, input.issuer.notAfter, input.subject.notAfter)),
    // A chain through the cross-certificate must not reach further than CA n+1 itself.
    extensions: caExtensions(subject.keyId, issuer.keyId, subject.nameConstraints),
  };
  return unsigned(body, input.signer, issuer.publicKey, input.issuer.subject);
};

/** The cross-certificate of CA n+1 by CA n, DER. */
export const issueCross = async (input: CrossInput): Promise<Uint8Array> => signed(unsignedCross(input));
