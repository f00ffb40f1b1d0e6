import { HandoverError } from '@handover/material';
import { implicit } from './der-writer.ts';
import { ipOctets } from './ip-address.ts';

const refuse = (what: string, value: string, why: string): never => {
  throw new HandoverError('ISSUE_NAME', `${what} ${JSON.stringify(value.slice(0, 300))} ${why}`);
};

// Underscores are no host name (RFC 1123 §2.1) but live in DNS, and verifiers match them.
const LABEL = /^(?!-)[A-Za-z0-9_-]{1,63}(?<!-)$/;

const dnsName = (name: string): Uint8Array => {
  if (ipOctets(name) !== undefined) refuse('dnsName', name, 'is an IP address; list it in ipAddresses');
  const labels = name.split('.');
  const rest = labels[0] === '*' ? labels.slice(1) : labels;
  if (name.length > 253) refuse('dnsName', name, 'is longer than the 253 characters DNS has room for');
  if (name.endsWith('.')) refuse('dnsName', name, 'ends with a dot; leave the dot out');
  if (rest.some((label) => label.includes('*')) || (rest.length === 0 && name === '*')) {
    refuse('dnsName', name, 'may hold * only as its whole first label, before at least one other');
  }
  if (rest.length === 0 || !rest.every((label) => LABEL.test(label))) {
    refuse(
      'dnsName',
      name,
      'is not a DNS name: labels of 1 to 63 letters, digits or hyphens, separated by dots',
    );
  }
  return implicit(2, Buffer.from(name, 'latin1'));
};

const ipAddress = (text: string): Uint8Array =>
  implicit(7, ipOctets(text) ?? refuse('ipAddress', text, 'is not an IPv4 or IPv6 address'));

/** Absolute, and nothing outside RFC 3986's characters, so that no reader has to quote it: RFC 5280 §4.2.1.6. */
const uri = (text: string): Uint8Array => {
  const good = /^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/.test(text);
  if (!good) refuse('uri', text, 'is not an absolute URI, such as spiffe://mesh/ns/default');
  if (text.length > 2048) refuse('uri', text, 'is longer than 2048 characters');
  return implicit(6, Buffer.from(text, 'latin1'));
};

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
