import {
  DerReader,
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

export interface Extensions {
  dnsNames: string[];
  ipAddresses: string[];
  uris: string[];
  emails: string[];
  altNames: readonly GeneralName[];
  subjectKeyId: string | undefined;
  authorityKeyId: string | undefined;
  authorityIssuerKey: string | undefined;
  authoritySerial: string | undefined;
  isCa: boolean;
  pathLength: number | undefined;
  hasBasicConstraints: boolean;
  keyUsage: readonly string[] | undefined;
  extendedKeyUsage: readonly string[] | undefined;
  netscapeCertType: number | undefined;
  nameConstraints: NameConstraints | undefined;
  isProxy: boolean;
  unknownCritical: string[];
}

export const noExtensions = (): Extensions => ({
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
});

type Read = (value: DerReader, into: Extensions) => void;

const READERS: Readonly<Record<string, Read>> = {
  [OID.basicConstraints]: (value, into) => {
    const content = value.enter(TAG.sequence, 'basicConstraints');
    into.hasBasicConstraints = true;
    if (content.peek() === TAG.boolean) into.isCa = readBoolean(content);
    if (content.peek() === TAG.integer) into.pathLength = readSmallInteger(content);
    content.finish('basicConstraints');
  },
  [OID.keyUsage]: (value, into) => {
    const { bits } = readBitString(value);
    into.keyUsage = KEY_USAGES.filter((_, i) => ((bits[i >> 3] ?? 0) & (0x80 >> (i & 7))) !== 0);
    // RFC 5280 §4.2.1.3: at least one bit must be set; OpenSSL calls such a certificate invalid too
    if (into.keyUsage.length === 0) value.fail('empty keyUsage');
  },
  [OID.extendedKeyUsage]: (value, into) => {
    const usages: string[] = [];
    const content = value.enter(TAG.sequence, 'extendedKeyUsage');
    while (!content.done) {
      const oid = readOid(content);
      usages.push(EXTENDED_KEY_USAGES[oid] ?? oid);
    }
    if (usages.length === 0) value.fail('empty extendedKeyUsage');
    into.extendedKeyUsage = usages;
  },
  [OID.subjectKeyIdentifier]: (value, into) => {
    into.subjectKeyId = value.enter(TAG.octetString, 'subjectKeyIdentifier').hex();
  },
  [OID.authorityKeyIdentifier]: (value, into) => {
    const content = value.enter(TAG.sequence, 'authorityKeyIdentifier');
    if (content.peek() === 0x80) into.authorityKeyId = content.element().hex();
    if (content.peek() === 0xa1) {
      const names = content.element();
      while (!names.done) {
        const name = readGeneralName(names);
        if (name.kind === 'directory') into.authorityIssuerKey ??= name.name.key;
      }
    }
    if (content.peek() === 0x82) into.authoritySerial = readIntegerHex(content, 0x82);
    content.finish('authorityKeyIdentifier');
  },
  [OID.subjectAltName]: (value, into) => {
    const names: GeneralName[] = [];
    const content = value.enter(TAG.sequence, 'subjectAltName');
    while (!content.done) {
      const name = readGeneralName(content);
      names.push(name);
      if (name.kind === 'dns') into.dnsNames.push(name.value);
      else if (name.kind === 'uri') into.uris.push(name.value);
      else if (name.kind === 'email') into.emails.push(name.value);
      else if (name.kind === 'ip') {
        into.ipAddresses.push(ipText(name.octets) ?? content.fail('IP address of a bad length'));
      }
    }
    into.altNames = names;
  },
  [OID.nameConstraints]: (value, into) => {
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
    into.nameConstraints = { permitted: subtrees(0xa0), excluded: subtrees(0xa1) };
    content.finish('nameConstraints');
  },
  [OID.netscapeCertType]: (value, into) => {
    into.netscapeCertType = readBitString(value).bits[0] ?? 0;
  },
  [OID.proxyCertInfo]: (value, into) => {
    value.element();
    into.isProxy = true;
  },
};

/** Reads `Extensions`, each OID at most once: RFC 5280 §4.2. */
export function readExtensions(from: DerReader): Extensions {
  const list = from.enter(TAG.sequence, 'extensions');
  const into = noExtensions();
  const seen = new Set<string>();
  while (!list.done) {
    const extension = list.enter(TAG.sequence, 'extension');
    const oid = readOid(extension);
    if (seen.has(oid)) extension.fail(`extension ${oid} given twice`);
    seen.add(oid);
    const critical = extension.peek() === TAG.boolean ? readBoolean(extension) : false;
    const content = extension.enter(TAG.octetString, 'extension value');
    extension.finish('extension');
    if (critical && !UNDERSTOOD.has(oid)) into.unknownCritical.push(oid);
    const read = READERS[oid];
    if (read !== undefined) {
      const value = new DerReader(content.bytes, content.at, content.end);
      read(value, into);
      value.finish('extension value');
    }
  }
  return into;
}
