import {
  type Authority,
  formatDuration,
  inIpRange,
  type Leaf,
  listed,
  matchesDnsPattern,
  matchesTextPattern,
  matchesUriPattern,
} from '@handover/core';
import { duration, hour } from '@handover/material';

export type LeafSpec = Leaf['spec'];

/** A Leaf's request to an Authority. */
export interface AskedIdentity {
  readonly spec: LeafSpec;
  readonly namespace: string;
  /** Whether the Leaf is in the Authority's own namespace. */
  readonly own: boolean;
  readonly issueTo: Authority['spec']['issueTo'];
}

/** Why a field is refused: what is wrong, and what to change. Undefined: it is allowed. */
export type Rule = (asked: AskedIdentity) => string | undefined;

const shown = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);

/** What is wrong, then both remedies: on the Leaf, and on the Authority. */
const refused = (what: string, field: string, allowed: string): string =>
  `${what} (allowed: ${allowed}); change it, or ask the Authority's owner to allow it in spec.issueTo.${field}`;

const patternsOf = (patterns: readonly string[]): string =>
  patterns.length === 0 ? 'none' : listed(patterns.map(shown), 3);

const firstStray = (
  values: readonly string[],
  patterns: readonly string[],
  matches: (pattern: string, value: string) => boolean,
): string | undefined => values.find((value) => !patterns.some((pattern) => matches(pattern, value)));

/** Of any depth: pods of a StatefulSet are `<pod>.<service>.<namespace>.svc`. */
const isOfNamespace = (name: string, namespace: string): boolean =>
  [`.${namespace}.svc`, `.${namespace}.svc.cluster.local`].some((end) => name.toLowerCase().endsWith(end));

const dnsRefusal = (
  { issueTo, namespace, own }: AskedIdentity,
  names: readonly string[],
): string | undefined => {
  const { dnsNames: patterns } = issueTo;
  if (patterns === undefined && own) return undefined;
  const stray =
    patterns === undefined
      ? names.find((name) => !isOfNamespace(name, namespace))
      : firstStray(names, patterns, (pattern, name) => matchesDnsPattern(pattern, namespace, name));
  if (stray === undefined) return undefined;
  const allowed = patterns === undefined ? `<any>.${namespace}.svc[.cluster.local]` : patternsOf(patterns);
  return refused(`${shown(stray)} is not allowed`, 'dnsNames', allowed);
};

export const dnsNames: Rule = (asked) => dnsRefusal(asked, asked.spec.dnsNames);

export const ipAddresses: Rule = ({ spec, issueTo, own }) => {
  const ranges = issueTo.ipAddresses ?? (own ? undefined : []);
  if (ranges === undefined) return undefined;
  const stray = firstStray(spec.ipAddresses, ranges, inIpRange);
  return stray === undefined
    ? undefined
    : refused(`${shown(stray)} is not allowed`, 'ipAddresses', patternsOf(ranges));
};

export const uris: Rule = ({ spec, issueTo, namespace, own }) => {
  const patterns = issueTo.uris ?? (own ? undefined : []);
  if (patterns === undefined) return undefined;
  const stray = firstStray(spec.uris, patterns, (pattern, uri) => matchesUriPattern(pattern, namespace, uri));
  return stray === undefined
    ? undefined
    : refused(`${shown(stray)} is not allowed`, 'uris', patternsOf(patterns));
};

const isAltName = ({ dnsNames, ipAddresses, uris }: LeafSpec, text: string): boolean =>
  dnsNames.some((name) => name.toLowerCase() === text.toLowerCase()) ||
  ipAddresses.includes(text) ||
  uris.includes(text);

export const commonName: Rule = (asked) => {
  const { spec, issueTo, namespace, own } = asked;
  const { commonName: name } = spec.subject;
  if (name === undefined) return undefined;
  const isAlt = isAltName(spec, name);
  const patterns = issueTo.subjects?.commonNames;
  const field = 'subjects.commonNames';
  if (patterns !== undefined) {
    if (!patterns.some((pattern) => matchesTextPattern(pattern, namespace, name)))
      return refused(`${shown(name)} is not allowed`, field, patternsOf(patterns));
  } else if (!own && !isAlt) {
    const allowed = 'one of the dnsNames, ipAddresses and uris of the Leaf';
    return refused(`${shown(name)} is not allowed`, field, allowed);
  }
  // Without a DNS name in a server's certificate, clients use its common name: RFC 6125 §6.4.4.
  if (isAlt || spec.dnsNames.length > 0 || !spec.usages.includes('server')) return undefined;
  const asHost = dnsRefusal(asked, [name]);
  return asHost === undefined
    ? undefined
    : `clients read it as a host name, since there are no dnsNames: ${asHost}`;
};

export const organizations: Rule = ({ spec, issueTo, namespace, own }) => {
  const patterns = issueTo.subjects?.organizations ?? (own ? undefined : []);
  if (patterns === undefined) return undefined;
  const stray = firstStray(spec.subject.organizations, patterns, (pattern, text) =>
    matchesTextPattern(pattern, namespace, text),
  );
  return stray === undefined
    ? undefined
    : refused(`${shown(stray)} is not allowed`, 'subjects.organizations', patternsOf(patterns));
};

export const usages: Rule = ({ spec, issueTo }) => {
  const allowed = issueTo.usages;
  const stray = allowed === undefined ? undefined : spec.usages.find((usage) => !allowed.includes(usage));
  return stray === undefined
    ? undefined
    : refused(`${shown(stray)} is not allowed`, 'usages', patternsOf(allowed ?? []));
};

/** RSA-4096 takes more than a second of CPU each, RSA-3072 half of one, the others less: docs/decisions/0402. */
const OTHERS_KEYS = ['ECDSA-P256', 'ECDSA-P384', 'RSA-2048', 'RSA-3072'] as const satisfies readonly string[];

export const key: Rule = ({ spec, issueTo, own }) => {
  const allowed: readonly string[] | undefined = issueTo.keys ?? (own ? undefined : OTHERS_KEYS);
  return allowed === undefined || allowed.includes(spec.key)
    ? undefined
    : refused(
        `${shown(spec.key)} is not allowed`,
        'keys',
        allowed.length === 0 ? 'none' : allowed.join(', '),
      );
};

const OTHERS_LEAST = duration(hour);

const leastOf = ({ issueTo, own }: AskedIdentity): number => {
  const { minLifetime, maxLifetime } = issueTo;
  if (minLifetime !== undefined) return minLifetime;
  return own ? 0 : Math.min(OTHERS_LEAST, maxLifetime ?? OTHERS_LEAST);
};

export const lifetime: Rule = (asked) => {
  const { spec, issueTo } = asked;
  const { maxLifetime: most } = issueTo;
  const length = `"${formatDuration(spec.lifetime)}"`;
  const least = leastOf(asked);
  if (spec.lifetime < least)
    return refused(`${length} is too short`, 'minLifetime', `${formatDuration(duration(least))} or more`);
  if (most !== undefined && spec.lifetime > most)
    return refused(`${length} is too long`, 'maxLifetime', `${formatDuration(most)} or less`);
  return undefined;
};

/** A long lifetime that is renewed after 1 % of it costs as much as a short one. */
export const renew: Rule = (asked) => {
  const {
    lifetime: whole,
    renew: { at },
  } = asked.spec;
  const after = duration(Math.floor(whole * at));
  const least = duration(leastOf(asked) / 2);
  return after >= least
    ? undefined
    : refused(
        `a renewal after ${formatDuration(after)} is too early`,
        'minLifetime',
        `${formatDuration(least)} or more, half of the shortest lifetime`,
      );
};
