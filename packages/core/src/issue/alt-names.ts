import { CoreError } from '../error.ts';
import { implicit } from './der-writer.ts';
import { ipOctets } from './ip-address.ts';

// Underscores are no host name (RFC 1123 §2.1) but live in DNS, and verifiers match them.
const LABEL = /^(?!-)[A-Za-z0-9_-]{1,63}(?<!-)$/;

/** What is wrong with a DNS name, if anything. A wildcard is its whole first label or nothing: RFC 6125 §6.4.3. */
export const dnsNameProblem = (name: string): string | undefined => {
  if (name.length > 253) return 'is longer than the 253 characters DNS has room for';
  if (ipOctets(name) !== undefined) return 'is an IP address; list it in ipAddresses';
  if (name.endsWith('.')) return 'ends with a dot; leave the dot out';
  const labels = name.split('.');
  const rest = labels[0] === '*' ? labels.slice(1) : labels;
  if (rest.length === 0 || rest.some((label) => label.includes('*'))) {
    return 'may hold * only as its whole first label, before at least one other';
  }
  if (rest.every((label) => LABEL.test(label))) return undefined;
  return 'is not a DNS name; write labels of letters, digits and hyphens with dots between them';
};

export const ipAddressProblem = (text: string): string | undefined =>
  ipOctets(text) === undefined
    ? 'is not an IPv4 or IPv6 address; write it like 10.0.0.1 or 2001:db8::1'
    : undefined;

/** Absolute, and nothing outside RFC 3986's characters, so that no reader has to quote it: RFC 5280 §4.2.1.6. */
export const uriProblem = (text: string): string | undefined => {
  if (text.length > 2048) return 'is longer than 2048 characters';
  const good = /^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/.test(text);
  return good ? undefined : 'is not an absolute URI; write it like spiffe://mesh/ns/default';
};

const accept = (field: string, value: string, problem: string | undefined): string => {
  if (problem === undefined) return value;
  throw new CoreError('ISSUE_NAME', `${field}: ${JSON.stringify(value.slice(0, 80))} ${problem}`);
};

const dnsName = (name: string): Uint8Array =>
  implicit(2, Buffer.from(accept('dnsNames', name, dnsNameProblem(name)), 'latin1'));
const ipAddress = (text: string): Uint8Array =>
  implicit(7, ipOctets(accept('ipAddresses', text, ipAddressProblem(text))) ?? new Uint8Array());
const uri = (text: string): Uint8Array =>
  implicit(6, Buffer.from(accept('uris', text, uriProblem(text)), 'latin1'));

export interface AltNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly uris: readonly string[];
}

/** GeneralNames in one order; a name asked for twice is there once. */
export const generalNames = ({ dnsNames, ipAddresses, uris }: AltNames): readonly Uint8Array[] => [
  ...[...new Set(dnsNames)].map(dnsName),
  ...[...new Set(ipAddresses)].map(ipAddress),
  ...[...new Set(uris)].map(uri),
];
