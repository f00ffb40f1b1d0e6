import { type Certificate, type Instant, iso } from '@handover/material';

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

/** The origin of a request, as far as the home can tell. */
export interface Asker {
  /** `resource`: the YAML or the custom resource itself. `request`: a command such as `handover rotate`. */
  readonly via: 'schedule' | 'resource' | 'annotation' | 'request';
  /** On one machine: the user whose process asked. */
  readonly user?: string;
  readonly uid?: number;
  /** In a cluster: the client's name in `managedFields`. The API server's audit log has the user. */
  readonly manager?: string;
}

/** One issued certificate. Names, numbers and dates: no key, and no PEM. */
export interface IssuedEntry {
  readonly at: string;
  readonly kind: 'ca' | 'cross' | 'leaf' | 'canary';
  /** `namespace/name`. */
  readonly authority: string;
  /** The CA generation that signed the certificate; for a CA, its own. */
  readonly generation: number;
  /** For a cross-certificate: the CA generation that it certifies. */
  readonly certifies?: number;
  /** Hex. */
  readonly serial: string;
  /** SHA-256 of the DER, hex. */
  readonly fingerprint: string;
  readonly subject: string;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly uris: readonly string[];
  readonly usages: readonly string[];
  readonly notBefore: string;
  readonly notAfter: string;
  /** The object that the certificate is for. */
  readonly for: {
    readonly kind: 'Authority' | 'Leaf' | 'CertificateRequest' | 'Pod';
    readonly namespace: string;
    readonly name: string;
    readonly uid?: string;
  };
  readonly askedBy?: Asker;
  readonly why: string;
}

/** Records every certificate before it is visible anywhere else. */
export interface IssuanceLog {
  /** The entry is durable, as far as the log allows, when this returns. A certificate whose entry it refuses is not issued. */
  issued(entry: IssuedEntry): Promise<void>;
}
