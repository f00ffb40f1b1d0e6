import { createPublicKey, type KeyObject } from 'node:crypto';
import { type Certificate, HandoverError } from '@handover/material';
import { membersAt, spanAt } from './der-walk.ts';
import { keyIdOfSpki } from './public-key.ts';

export interface CaParts {
  /** The subject's DER, to be copied as it is: Go compares issuer and subject byte by byte. */
  readonly name: Uint8Array;
  readonly spki: Uint8Array;
  readonly publicKey: KeyObject;
  readonly keyId: Uint8Array;
}

// An authority issues many leaves; decoding its key anew for each would cost more than signing them.
const known = new WeakMap<Certificate, CaParts>();

/** What issuing needs of a CA beyond the values `Certificate` has. Anything but a CA is refused. */
export const caParts = (certificate: Certificate): CaParts => {
  if (!certificate.isCa) {
    throw new HandoverError(
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
    throw new HandoverError('CERTIFICATE_MALFORMED', 'a certificate without subject and key; parse it first');
  }
  const parts = {
    name,
    spki,
    publicKey: createPublicKey({ key: Buffer.from(spki), type: 'spki', format: 'der' }),
    keyId: subjectKeyId === undefined ? keyIdOfSpki(spki) : Buffer.from(subjectKeyId, 'hex'),
  };
  known.set(certificate, parts);
  return parts;
};
