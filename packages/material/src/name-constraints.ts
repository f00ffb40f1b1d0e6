import type { Certificate } from './certificate.ts';
import type { NameConstraints } from './extensions.ts';
import type { GeneralName } from './general-name.ts';

export type NameVerdict =
  | 'OK'
  | 'PERMITTED_VIOLATION'
  | 'EXCLUDED_VIOLATION'
  | 'UNSUPPORTED_CONSTRAINT_TYPE'
  | 'UNSUPPORTED_CONSTRAINT_SYNTAX'
  | 'UNSUPPORTED_NAME_SYNTAX';

const says = (matches: boolean): NameVerdict => (matches ? 'OK' : 'PERMITTED_VIOLATION');
const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
const endsWith = (name: string, suffix: string): boolean =>
  name.length > suffix.length && same(name.slice(-suffix.length), suffix);

const dns = (name: string, base: string): NameVerdict => {
  if (base === '') return 'OK';
  if (name.length <= base.length) return says(same(name, base));
  return says((base.startsWith('.') || name.at(-base.length - 1) === '.') && endsWith(name, base));
};

const email = (name: string, base: string): NameVerdict => {
  const at = name.lastIndexOf('@');
  if (at < 0) return 'UNSUPPORTED_NAME_SYNTAX';
  const baseAt = base.lastIndexOf('@');
  if (baseAt < 0 && base.startsWith('.')) return says(endsWith(name, base));
  // the part before @ is compared as it stands: RFC 5321 §2.4
  if (baseAt > 0 && name.slice(0, at) !== base.slice(0, baseAt)) return 'PERMITTED_VIOLATION';
  return says(same(name.slice(at + 1), base.slice(baseAt + 1)));
};

const uri = (name: string, base: string): NameVerdict => {
  const host = /^[^:]*:\/\/([^:/]+)/.exec(name)?.[1];
  if (host === undefined) return 'UNSUPPORTED_NAME_SYNTAX';
  return says(base.startsWith('.') ? endsWith(host, base) : same(host, base));
};

const ip = (address: Uint8Array, base: Uint8Array): NameVerdict => {
  if (address.length !== 4 && address.length !== 16) return 'UNSUPPORTED_NAME_SYNTAX';
  if (base.length !== 8 && base.length !== 32) return 'UNSUPPORTED_NAME_SYNTAX';
  const size = address.length;
  if (base.length !== 2 * size) return 'PERMITTED_VIOLATION';
  return says(address.every((octet, i) => ((octet ^ (base[i] ?? 0)) & (base[size + i] ?? 0)) === 0));
};

function matches(name: GeneralName, base: GeneralName): NameVerdict {
  if (name.kind === 'directory' && base.kind === 'directory') {
    const { rdnKeys } = base.name;
    return says(rdnKeys.every((key, i) => key === name.name.rdnKeys[i]));
  }
  if (name.kind === 'ip' && base.kind === 'ip') return ip(name.octets, base.octets);
  if (name.kind === 'dns' && base.kind === 'dns') return dns(name.value, base.value);
  if (name.kind === 'email' && base.kind === 'email') return email(name.value, base.value);
  if (name.kind === 'uri' && base.kind === 'uri') return uri(name.value, base.value);
  return 'UNSUPPORTED_CONSTRAINT_TYPE';
}

/** A name must match a permitted base of its kind, if there is one, and no excluded base. */
export function checkName(name: GeneralName, { permitted, excluded }: NameConstraints): NameVerdict {
  let bound = false;
  let allowed = false;
  for (const base of permitted) {
    if (base.kind !== name.kind || allowed) continue;
    bound = true;
    const verdict = matches(name, base);
    if (verdict === 'OK') allowed = true;
    else if (verdict !== 'PERMITTED_VIOLATION') return verdict;
  }
  if (bound && !allowed) return 'PERMITTED_VIOLATION';
  for (const base of excluded) {
    if (base.kind !== name.kind) continue;
    const verdict = matches(name, base);
    if (verdict === 'OK') return 'EXCLUDED_VIOLATION';
    if (verdict !== 'PERMITTED_VIOLATION') return verdict;
  }
  return 'OK';
}

const HOST = /^(?!-)[A-Za-z0-9_-]+(?<!-)(\.(?!-)[A-Za-z0-9_-]+(?<!-))+$/;

function* namesOf(certificate: Certificate, isLeaf: boolean): Generator<GeneralName> {
  const { subjectName, altNames } = certificate;
  if (!subjectName.empty) yield { kind: 'directory', name: subjectName };
  for (const value of subjectName.emails) yield { kind: 'email', value };
  yield* altNames;
  // Clients may match a leaf without DNS names by its common name, so OpenSSL checks the common name too.
  if (isLeaf && certificate.dnsNames.length === 0) {
    for (const value of subjectName.commonNames) if (HOST.test(value)) yield { kind: 'dns', value };
  }
}

/** Every name of the certificate against one issuer's constraints: RFC 5280 §4.2.1.10. */
export function checkNames(
  certificate: Certificate,
  constraints: NameConstraints,
  isLeaf: boolean,
): NameVerdict {
  for (const name of namesOf(certificate, isLeaf)) {
    const verdict = checkName(name, constraints);
    if (verdict !== 'OK') return verdict;
  }
  return 'OK';
}
