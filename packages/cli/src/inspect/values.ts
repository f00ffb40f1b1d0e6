import {
  type Certificate,
  day,
  hour,
  type Instant,
  isExpired,
  iso,
  minute,
  nameOf,
  second,
} from '@handover/material';
import { printable } from '../printable.ts';
import type { InspectedEntry, InspectedFile, Position } from './file.ts';
import type { Relations } from './relations.ts';

/** To the second, UTC. */
export const date = (at: Instant): string => iso(at).replace('.000Z', 'Z');

const UNITS: readonly (readonly [name: string, length: number])[] = [
  ['year', 365 * day],
  ['day', day],
  ['hour', hour],
  ['minute', minute],
  ['second', second],
];

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

/** A length of time in the largest unit with a count of at least two. */
export const ago = (ms: number): string => {
  const [name, length] = UNITS.find(([, length]) => ms >= 2 * length) ?? (['second', second] as const);
  return count(Math.floor(ms / length), name);
};

const FORMATS = { pem: '', pkcs12: 'PKCS#12 keystore, ', jks: 'JKS keystore, ' } as const;

export const heading = ({ name, format, checked, entries, others }: InspectedFile): string => {
  const certificates = `${printable(name)}: ${FORMATS[format]}${count(entries.length, 'certificate')}`;
  if (format === 'pem') return certificates;
  const password = checked ? 'the password fits' : 'not checked: no password given';
  return `${certificates}, ${count(others.length, 'private key')}; ${password}`;
};

/** `line 3`, or `alias web`. */
export const whereIn = ({ line, alias }: Position): string =>
  line !== undefined ? `line ${line}` : alias === undefined ? 'no alias' : `alias ${printable(alias)}`;

/** `certificate 1 at line 3`, or `certificate 1, alias web`. */
export const placed = (what: string, place: Position): string =>
  `${what}${place.line === undefined ? ',' : ' at'} ${whereIn(place)}`;

/** What a keystore says of a certificate. */
const roleOf = ({ trusted }: InspectedEntry): string | undefined =>
  trusted === undefined ? undefined : trusted ? 'trusted' : 'chain of a key';

const kindOf = (entry: InspectedEntry, { selfSigned }: Relations): string => {
  const { isCa, pathLength } = entry.certificate;
  const ca = isCa ? `CA${pathLength === undefined ? '' : `, path length ${pathLength}`}` : 'leaf';
  return selfSigned.has(entry) ? `${ca}, self-signed` : ca;
};

const ends = (certificate: Certificate, now: Instant): string =>
  isExpired(certificate, now)
    ? `expired ${ago(now - certificate.notAfter)} ago`
    : `${ago(certificate.notAfter - now)} left`;

const issuedBy = (entry: InspectedEntry, { issuers, selfSigned }: Relations): string => {
  if (selfSigned.has(entry)) return 'itself';
  const found = issuers.get(entry) ?? [];
  if (found.length === 0) return 'none of these';
  return found
    .map(({ file, index }) =>
      file === entry.file ? `certificate ${index}` : `certificate ${index} of ${file}`,
    )
    .join(', ');
};

/** The fields of a certificate, named and in order, without absent ones. */
export const fieldsOf = (
  entry: InspectedEntry,
  relations: Relations,
  now: Instant,
): readonly (readonly [name: string, value: string])[] => {
  const { certificate } = entry;
  const list = (values: readonly string[] | undefined): string | undefined =>
    values === undefined || values.length === 0 ? undefined : values.join(', ');
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['subject', certificate.subject === '' ? `(empty: ${nameOf(certificate)})` : certificate.subject],
    ['issuer', certificate.issuer],
    ['issued by', issuedBy(entry, relations)],
    ['kind', kindOf(entry, relations)],
    ['entry', roleOf(entry)],
    ['not before', date(certificate.notBefore)],
    ['not after', `${date(certificate.notAfter)} (${ends(certificate, now)})`],
    ['DNS names', list(certificate.dnsNames)],
    ['IP addresses', list(certificate.ipAddresses)],
    ['URIs', list(certificate.uris)],
    ['e-mail', list(certificate.emails)],
    ['usage', list([...(certificate.keyUsage ?? []), ...(certificate.extendedKeyUsage ?? [])])],
    ['key', `${certificate.keyAlgorithm}, signed with ${certificate.signatureAlgorithm}`],
    ['serial', certificate.serial],
    ['SKI', certificate.subjectKeyId ?? 'none'],
    [
      'AKI',
      certificate.authorityKeyId ??
        (certificate.authoritySerial === undefined ? 'none' : 'issuer and serial'),
    ],
    ['SHA-256', certificate.fingerprint],
  ];
  return fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, printable(value)] as const]));
};
