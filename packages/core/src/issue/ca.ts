import type { KeyObject } from 'node:crypto';
import { type Certificate, type Instant, instant } from '@handover/material';
import { caParts } from './certificate-parts.ts';
import { authorityKeyIdentifier, CA_CONSTRAINTS, CA_KEY_USAGE, subjectKeyIdentifier } from './extensions.ts';
import type { KeyPair } from './keys.ts';
import { nameConstraintsExtension, type PermittedNames } from './name-constraints.ts';
import { caCommonName, distinguishedName } from './names.ts';
import { keyIdOfSpki, spkiOf } from './public-key.ts';
import { requireKeyOf, signCertificate } from './signed.ts';

export interface CaInput {
  readonly name: string;
  readonly generation: number;
  readonly key: KeyPair;
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

/** The self-signed CA of one generation, DER. */
export function issueCa(input: CaInput): Uint8Array {
  const spki = spkiOf(input.key.publicKey);
  requireKeyOf(input.key.publicKey, input.key.privateKey, `${input.name} ${input.generation}`);
  const keyId = keyIdOfSpki(spki);
  const subject = distinguishedName({ commonName: caCommonName(input.name, input.generation, keyId) });
  return signCertificate(
    {
      serial: input.serial,
      issuer: subject,
      subject,
      spki,
      notBefore: input.notBefore,
      notAfter: input.notAfter,
      extensions: caExtensions(keyId, keyId, nameConstraintsExtension(input.nameConstraints)),
    },
    input.key.privateKey,
  );
}

export interface CrossInput {
  /** CA n+1, whose name and key X carries. */
  readonly subject: Certificate;
  /** CA n, which verifiers already hold. */
  readonly issuer: Certificate;
  readonly issuerKey: KeyObject;
  readonly serial: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

/** X(n+1 by n), DER. Its dates are cut to where both CAs are valid: outside, the chain through it is dead anyway. */
export function issueCross(input: CrossInput): Uint8Array {
  const subject = caParts(input.subject);
  const issuer = caParts(input.issuer);
  requireKeyOf(issuer.publicKey, input.issuerKey, input.issuer.subject);
  return signCertificate(
    {
      serial: input.serial,
      issuer: issuer.name,
      subject: subject.name,
      spki: subject.spki,
      notBefore: instant(Math.max(input.notBefore, input.issuer.notBefore, input.subject.notBefore)),
      notAfter: instant(Math.min(input.notAfter, input.issuer.notAfter, input.subject.notAfter)),
      // A chain through X must not reach further than CA n+1 itself.
      extensions: caExtensions(subject.keyId, issuer.keyId, subject.nameConstraints),
    },
    input.issuerKey,
  );
}
