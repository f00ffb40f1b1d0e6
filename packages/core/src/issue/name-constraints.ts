import { checkName, type GeneralName, type NameConstraints } from '@handover/material';
import { CoreError } from '../error.ts';
import { dnsNameProblem } from './alt-names.ts';
import { implicit, sequence, tlv } from './der-writer.ts';
import { extension } from './extensions.ts';
import { ipOctets } from './ip-address.ts';
import { ipRange, ipRangeProblem } from './ip-range.ts';
import type { LeafInput } from './leaf.ts';

/** Names that a CA may sign. A kind without a list is not constrained: RFC 5280 §4.2.1.10. */
export interface PermittedNames {
  /** Domains: each permits itself and every name below it. */
  readonly dnsNames?: readonly string[] | undefined;
  /** Addresses and ranges. */
  readonly ipAddresses?: readonly string[] | undefined;
}

const refuse = (field: string, value: string, problem: string): never => {
  throw new CoreError('ISSUE_NAME', `nameConstraints.${field}: ${JSON.stringify(value)} ${problem}`);
};

const domain = (name: string): string => {
  const problem = name.startsWith('*')
    ? 'has a wildcard; a domain permits all below it'
    : dnsNameProblem(name);
  return problem === undefined ? name : refuse('dnsNames', name, problem);
};

/** Address, then mask: RFC 5280 §4.2.1.10. */
const octetsOf = (text: string): Uint8Array => {
  const range = ipRange(text);
  const problem = ipRangeProblem(text);
  if (range === undefined || problem !== undefined)
    return refuse('ipAddresses', text, problem ?? 'is no range');
  return Uint8Array.from([...range.octets, ...range.mask]);
};

/** As verifiers read them. */
export const nameConstraintsOf = ({ dnsNames = [], ipAddresses = [] }: PermittedNames): NameConstraints => ({
  permitted: [
    ...dnsNames.map((value) => ({ kind: 'dns', value: domain(value) }) as const),
    ...ipAddresses.map((text) => ({ kind: 'ip', octets: octetsOf(text) }) as const),
  ],
  excluded: [],
});

/** The extension of a CA, or nothing where nothing is constrained. Critical, as RFC 5280 asks. */
export const nameConstraintsExtension = (names: PermittedNames = {}): readonly Uint8Array[] => {
  const { dnsNames = [], ipAddresses = [] } = names;
  const bases = [
    ...dnsNames.map((name) => implicit(2, Buffer.from(domain(name), 'latin1'))),
    ...ipAddresses.map((text) => implicit(7, octetsOf(text))),
  ];
  if (bases.length === 0) return [];
  const permitted = tlv(0xa0, ...bases.map((base) => sequence(base)));
  return [extension('2.5.29.30', true, sequence(permitted))];
};

type Names = Pick<LeafInput, 'dnsNames' | 'ipAddresses' | 'uris' | 'subject'>;

const HOST = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$/;

/**
 * The first name of a leaf that verifiers would refuse under these constraints, with its field. A common name counts where
 * there is no DNS name and it has the form of one, as in OpenSSL.
 */
export const outsideConstraints = (leaf: Names, constraints: NameConstraints): string | undefined => {
  const { dnsNames, ipAddresses, uris, subject } = leaf;
  const hosts = dnsNames.length > 0 ? [] : [subject.commonName ?? ''].filter((name) => HOST.test(name));
  const names: readonly (readonly [string, string, GeneralName])[] = [
    ...dnsNames.map((value) => ['dnsNames', value, { kind: 'dns', value }] as const),
    ...ipAddresses.map(
      (text) => ['ipAddresses', text, { kind: 'ip', octets: ipOctets(text) ?? new Uint8Array() }] as const,
    ),
    ...uris.map((value) => ['uris', value, { kind: 'uri', value }] as const),
    ...hosts.map((value) => ['subject.commonName', value, { kind: 'dns', value }] as const),
  ];
  const found = names.find(([, , name]) => checkName(name, constraints) !== 'OK');
  return found === undefined ? undefined : `${found[0]}: ${JSON.stringify(found[1].slice(0, 80))}`;
};
