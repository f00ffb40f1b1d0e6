import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Certificate } from '@handover/material';
import { CoreError } from '../error.ts';
import { oid } from './der-writer.ts';
import { keyIdOfSpki, membersAt, spanAt } from './public-key.ts';

export interface CaParts {
  /** The subject's DER, to be copied as it is: Go compares issuer and subject byte by byte. */
  readonly name: Uint8Array;
  readonly spki: Uint8Array;
  readonly publicKey: KeyObject;
  readonly keyId: Uint8Array;
  /** Its extension nameConstraints, whole, if it has one. */
  readonly nameConstraints: readonly Uint8Array[];
}

const NAME_CONSTRAINTS = Buffer.from(oid('2.5.29.30'));

/** `wrapped` is the last field of a certificate's body: `[3]` around its extensions, if there are any. */
const constraintsIn = (wrapped: Uint8Array | undefined): readonly Uint8Array[] => {
  if (wrapped?.[0] !== 0xa3) return [];
  return membersAt(wrapped, spanAt(wrapped, 0).start).filter((extension) =>
    NAME_CONSTRAINTS.equals(membersAt(extension, 0)[0] ?? new Uint8Array()),
  );
};

// An authority issues many leaves; decoding its key again for each would cost more than signing them.
const known = new WeakMap<Certificate, CaParts>();

/** What issuing needs of a CA beyond the values `Certificate` has. Anything but a CA is refused. */
export const caParts = (certificate: Certificate): CaParts => {
  if (!certificate.isCa) {
    throw new CoreError(
      'ISSUE_NOT_A_CA',
      `${certificate.subject || 'a certificate without a subject'} is not a CA; only a CA can sign or be cross-signed`,
    );
  }
  const before = known.get(certificate);
  if (before !== undefined) return before;
  const { der, subjectKeyId } = certificate;
  const fields = membersAt(der, spanAt(der, 0).start);
  const first = fields[0]?.[0] === 0xa0 ? 1 : 0; // version 1 certificates leave the version out
  const [name, spki] = fields.slice(first + 4);
  if (name === undefined || spki === undefined) {
    throw new CoreError('CERTIFICATE_MALFORMED', 'a certificate without subject and key; parse it first');
  }
  const parts = {
    name,
    spki,
    publicKey: createPublicKey({ key: Buffer.from(spki), type: 'spki', format: 'der' }),
    keyId: subjectKeyId === undefined ? keyIdOfSpki(spki) : Buffer.from(subjectKeyId, 'hex'),
    nameConstraints: constraintsIn(fields.at(-1)),
  };
  known.set(certificate, parts);
  return parts;
};
