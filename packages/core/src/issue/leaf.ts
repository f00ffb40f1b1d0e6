import type { KeyObject } from 'node:crypto';
import { type Certificate, type Instant, instant } from '@handover/material';
import { CoreError } from '../error.ts';
import { familyOf } from './algorithms.ts';
import { type AltNames, generalNames } from './alt-names.ts';
import { caParts } from './certificate-parts.ts';
import {
  authorityKeyIdentifier,
  distinguishedName,
  extendedKeyUsage,
  LEAF_CONSTRAINTS,
  LEAF_KEY_USAGE,
  type Subject,
  subjectAltName,
  subjectKeyIdentifier,
  USAGES,
  type Usage,
} from './extensions.ts';
import { keyIdOfSpki, spkiOf } from './public-key.ts';
import { signed, type Unsigned, unsigned } from './signed.ts';
import type { Signer } from './signer.ts';

export interface LeafInput extends AltNames {
  readonly issuer: Certificate;
  /** Of the issuer. */
  readonly signer: Signer;
  readonly publicKey: KeyObject;
  /** 8 to 20 random bytes. */
  readonly serial: Uint8Array;
  readonly subject: Subject;
  readonly usages: readonly Usage[];
  /** An hour back from now, for clocks that run late. */
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

/** Its dates are cut to those of its CA: past them no peer would accept it. */
export const unsignedLeaf = (input: LeafInput): Unsigned => {
  const issuer = caParts(input.issuer);
  const unknown = input.usages.find((usage) => !USAGES.includes(usage));
  if (input.usages.length === 0 || unknown !== undefined) {
    throw new CoreError(
      'ISSUE_USAGES',
      `usages must be server, client or both, got ${unknown ?? 'none'}; a leaf without them would be good for anything`,
    );
  }
  const { commonName, organizations = [] } = input.subject;
  const anonymous = commonName === undefined && organizations.length === 0;
  const names = generalNames(input);
  if (anonymous && names.length === 0) {
    throw new CoreError(
      'ISSUE_NO_NAME',
      'a leaf needs a name: give it a subject.commonName, or dnsNames, ipAddresses or uris',
    );
  }
  const spki = spkiOf(input.publicKey);
  const body = {
    serial: input.serial,
    issuer: issuer.name,
    subject: distinguishedName(input.subject),
    spki,
    notBefore: instant(Math.max(input.notBefore, input.issuer.notBefore)),
    notAfter: instant(Math.min(input.notAfter, input.issuer.notAfter)),
    extensions: [
      LEAF_CONSTRAINTS,
      familyOf(input.publicKey) === 'RSA' ? LEAF_KEY_USAGE.rsa : LEAF_KEY_USAGE.ecdsa,
      extendedKeyUsage(input.usages),
      subjectKeyIdentifier(keyIdOfSpki(spki)),
      authorityKeyIdentifier(issuer.keyId),
      // Critical only when the subject is empty: RFC 5280 §4.1.2.6.
      ...(names.length === 0 ? [] : [subjectAltName(names, anonymous)]),
    ],
  };
  return unsigned(body, input.signer, issuer.publicKey, input.issuer.subject);
};

/** A leaf, DER. */
export const issueLeaf = async (input: LeafInput): Promise<Uint8Array> => signed(unsignedLeaf(input));
