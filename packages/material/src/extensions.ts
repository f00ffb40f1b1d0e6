import {
  type DerReader,
  readBitString,
  readBoolean,
  readIntegerHex,
  readOid,
  readSmallInteger,
  TAG,
} from './der.ts';
import { type GeneralName, ipText, readGeneralName } from './general-name.ts';
import { EXTENDED_KEY_USAGES, KEY_USAGES, OID } from './oid.ts';

/** Extensions that OpenSSL's verifier understands (X509_supported_extension). It refuses other critical extensions. */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  OID.netscapeCertType,
  OID.keyUsage,
  OID.subjectAltName,
  OID.basicConstraints,
  OID.extendedKeyUsage,
  OID.proxyCertInfo,
  OID.nameConstraints,
  '2.5.29.32', // certificatePolicies
  '2.5.29.31', // cRLDistributionPoints
  '2.5.29.36', // policyConstraints
  '2.5.29.33', // policyMappings
  '2.5.29.54', // inhibitAnyPolicy
  '1.3.6.1.5.5.7.48.1.5', // OCSP nocheck
]);

export interface NameConstraints {
  readonly permitted: readonly GeneralName[];
  readonly excluded: readonly GeneralName[];
}

/** The extensions of a certificate that a rotation or a verifier asks about. */
export interface Extensions {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly uris: readonly string[];
  readonly emails: readonly string[];
  /** All alternative names, as name constraints compare them. */
  readonly altNames: readonly GeneralName[];
  /** Hex. */
  readonly subjectKeyId: string | undefined;
  readonly authorityKeyId: string | undefined;
  /** Issuer name and serial number of the issuing certificate, when the AKI holds them. */
  readonly authorityIssuerKey: string | undefined;
  readonly authoritySerial: string | undefined;
  readonly isCa: boolean;
  readonly pathLength: number | undefined;
  readonly hasBasicConstraints: boolean;
  readonly keyUsage: readonly string[] | undefined;
  readonly extendedKeyUsage: readonly string[] | undefined;
  readonly netscapeCertType: number | undefined;
  readonly nameConstraints: NameConstraints | undefined;
  readonly isProxy: boolean;
  /** OIDs of critical extensions that OpenSSL's verifier does not understand. */
  readonly unknownCritical: readonly string[];
}

export const NO_EXTENSIONS: Extensions = {
  dnsNames: [],
  ipAddresses: [],
  uris: [],
  emails: [],
  altNames: [],
  subjectKeyId: undefined,
  authorityKeyId: undefined,
  authorityIssuerKey: undefined,
  authoritySerial: undefined,
  isCa: false,
  pathLength: undefined,
  hasBasicConstraints: false,
  keyUsage: undefined,
  extendedKeyUsage: undefined,
  netscapeCertType: undefined,
  nameConstraints: undefined,
  isProxy: false,
  unknownCritical: [],
};

const generalNames = (list: DerReader): GeneralName[] => {
  const names: GeneralName[] = [];
  while (!list.done) names.push(readGeneralName(list));
  return names;
};

const READERS: Readonly<Record<string, (value: DerReader) => Partial<Extensions>>> = {
  [OID.basicConstraints]: (value) => {
    const content = value.enter(TAG.sequence, 'basicConstraints');
    const isCa = content.peek() === TAG.boolean && readBoolean(content);
    const pathLength = content.peek() === TAG.integer ? readSmallInteger(content) : undefined;
    content.finish('basicConstraints');
    return { hasBasicConstraints: true, isCa, pathLength };
  },
  [OID.keyUsage]: (value) => {
    const { bits } = readBitString(value);
    const keyUsage = KEY_USAGES.filter((_, i) => ((bits[i >> 3] ?? 0) & (0x80 >> (i & 7))) !== 0);
    // RFC 5280 §4.2.1.3: at least one bit must be set; OpenSSL calls such a certificate invalid too
    if (keyUsage.length === 0) value.fail('empty keyUsage');
    return { keyUsage };
  },
  [OID.extendedKeyUsage]: (value) => {
    const extendedKeyUsage: string[] = [];
    const content = value.enter(TAG.sequence, 'extendedKeyUsage');
    while (!content.done) {
      const oid = readOid(content);
      extendedKeyUsage.push(EXTENDED_KEY_USAGES[oid] ?? oid);
    }
    if (extendedKeyUsage.length === 0) value.fail('empty extendedKeyUsage');
    return { extendedKeyUsage };
  },
  [OID.subjectKeyIdentifier]: (value) => ({
    subjectKeyId: value.enter(TAG.octetString, 'subjectKeyIdentifier').hex(),
  }),
  [OID.authorityKeyIdentifier]: (value) => {
    const content = value.enter(TAG.sequence, 'authorityKeyIdentifier');
    const authorityKeyId = content.peek() === 0x80 ? content.element().hex() : undefined;
    const issuers = content.peek() === 0xa1 ? generalNames(content.element()) : [];
    const authoritySerial = content.peek() === 0x82 ? readIntegerHex(content, 0x82) : undefined;
    content.finish('authorityKeyIdentifier');
    const issuer = issuers.find((name) => name.kind === 'directory');
    return { authorityKeyId, authorityIssuerKey: issuer?.name.key, authoritySerial };
  },
  [OID.subjectAltName]: (value) => {
    const content = value.enter(TAG.sequence, 'subjectAltName');
    const altNames = generalNames(content);
    const texts = (kind: 'dns' | 'uri' | 'email') =>
      altNames.flatMap((name) => (name.kind === kind ? [name.value] : []));
    return {
      altNames,
      dnsNames: texts('dns'),
      uris: texts('uri'),
      emails: texts('email'),
      ipAddresses: altNames.flatMap((name) =>
        name.kind === 'ip' ? [ipText(name.octets) ?? content.fail('IP address of a bad length')] : [],
      ),
    };
  },
  [OID.nameConstraints]: (value) => {
    const content = value.enter(TAG.sequence, 'nameConstraints');
    const subtrees = (tag: number): GeneralName[] => {
      const names: GeneralName[] = [];
      if (content.peek() !== tag) return names;
      const list = content.element();
      while (!list.done) {
        const subtree = list.enter(TAG.sequence, 'subtree');
        names.push(readGeneralName(subtree));
        // minimum must be 0 and so absent, maximum must be absent: RFC 5280 §4.2.1.10
        subtree.finish('subtree');
      }
      return names;
    };
    const nameConstraints = { permitted: subtrees(0xa0), excluded: subtrees(0xa1) };
    content.finish('nameConstraints');
    return { nameConstraints };
  },
  [OID.netscapeCertType]: (value) => ({ netscapeCertType: readBitString(value).bits[0] ?? 0 }),
  [OID.proxyCertInfo]: (value) => {
    value.element();
    return { isProxy: true };
  },
};

/** Reads `Extensions`, each OID at most once: RFC 5280 §4.2. */
export function readExtensions(from: DerReader): Extensions {
  const list = from.enter(TAG.sequence, 'extensions');
  const found: Partial<Extensions>[] = [];
  const unknownCritical: string[] = [];
  const seen = new Set<string>();
  while (!list.done) {
    const extension = list.enter(TAG.sequence, 'extension');
    const oid = readOid(extension);
    if (seen.has(oid)) extension.fail(`extension ${oid} given twice`);
    seen.add(oid);
    const critical = extension.peek() === TAG.boolean && readBoolean(extension);
    const value = extension.enter(TAG.octetString, 'extension value');
    extension.finish('extension');
    if (critical && !UNDERSTOOD.has(oid)) unknownCritical.push(oid);
    const read = READERS[oid];
    if (read !== undefined) {
      found.push(read(value));
      value.finish('extension value');
    }
  }
  return Object.assign({}, NO_EXTENSIONS, ...found, { unknownCritical });
}
