import { type Certificate, type Instant, iso } from '@handover/material';
import type { IssuedEntry } from './issued-entry.ts';

export type Circumstances = Pick<
  IssuedEntry,
  'kind' | 'authority' | 'generation' | 'certifies' | 'for' | 'askedBy' | 'why'
>;

export const entryOf = (certificate: Certificate, at: Instant, circumstances: Circumstances): IssuedEntry => {
  const { kind, authority, generation, certifies, askedBy, why } = circumstances;
  return {
    at: iso(at),
    kind,
    authority,
    generation,
    ...(certifies === undefined ? {} : { certifies }),
    serial: certificate.serial,
    fingerprint: certificate.fingerprint,
    subject: certificate.subject,
    dnsNames: certificate.dnsNames,
    ipAddresses: certificate.ipAddresses,
    uris: certificate.uris,
    usages: certificate.extendedKeyUsage ?? certificate.keyUsage ?? [],
    notBefore: iso(certificate.notBefore),
    notAfter: iso(certificate.notAfter),
    for: circumstances.for,
    ...(askedBy === undefined ? {} : { askedBy }),
    why,
  };
};

/** The object that a certificate is for, from `namespace/name`. */
export const objectOf = (
  kind: IssuedEntry['for']['kind'],
  id: string,
  uid: string | undefined,
): IssuedEntry['for'] => {
  const [namespace = '', name = ''] = id.split('/');
  return { kind, namespace, name, ...(uid === undefined ? {} : { uid }) };
};
