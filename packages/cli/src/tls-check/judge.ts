import type { TlsProfile, TlsVersion } from '@handover/material';
import { speaks, suiteName, tlsGroupName, VERSION_NAMES, type Version } from './names.ts';
import { CLOSED } from './offer.ts';
import type { VersionSeen } from './survey.ts';

export interface JudgedItem {
  readonly code: string;
  readonly message: string;
}

/** What a server is compared with. */
export interface TlsYardstick {
  readonly profile: TlsProfile;
  /**
   * How to judge a group that the profile does not list: a mismatch, where groups are listed by hand; a remark, for a named profile,
   * since every TLS library accepts more by default; not at all, where the profile has no list.
   */
  readonly otherGroups: 'mismatch' | 'remark' | 'unjudged';
}

export interface Judgement {
  /** `unchecked`: nothing was learned. `inconclusive`: no mismatch was seen, and some answers are missing. */
  readonly verdict: 'match' | 'mismatch' | 'inconclusive' | 'unchecked';
  readonly mismatches: readonly JudgedItem[];
  readonly unknowns: readonly JudgedItem[];
  readonly remarks: readonly JudgedItem[];
}

const FLOOR = {
  VersionTLS10: 'TLS 1.0',
  VersionTLS11: 'TLS 1.1',
  VersionTLS12: 'TLS 1.2',
  VersionTLS13: 'TLS 1.3',
} as const satisfies Record<TlsVersion, Version>;

export type ItemStanding = 'forbidden' | 'asked';

/** A profile asks for every version from its minimum that one of its suites belongs to, and forbids the versions below. */
export const itemStandingOf = (
  version: Version,
  { ciphers, minTLSVersion }: TlsProfile,
): ItemStanding | undefined => {
  if (VERSION_NAMES.indexOf(version) < VERSION_NAMES.indexOf(FLOOR[minTLSVersion])) return 'forbidden';
  return ciphers.some((suite) => speaks(version, suite)) ? 'asked' : undefined;
};

const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
const isListed = (names: readonly string[], name: string): boolean =>
  names.some((listed) => same(listed, name));
const authenticationOf = (suite: string): string | undefined => {
  if (suite.startsWith('TLS_') || /^AE?C?DH-/.test(suite)) return undefined;
  return suite.includes('ECDSA') ? 'ECDSA' : suite.includes('DSS') ? 'DSA' : 'RSA';
};

/** Compares a server's behaviour with a profile. Pure. */
export function judgeTls(seen: readonly VersionSeen[], { profile, otherGroups }: TlsYardstick): Judgement {
  const mismatches: JudgedItem[] = [];
  const unknowns: JudgedItem[] = [];
  const remarks: JudgedItem[] = [];
  const isAnswer = ({ outcome, why }: VersionSeen): boolean =>
    outcome === 'accepted' || (outcome === 'refused' && why !== CLOSED);
  // Closing a connection counts as a refusal only from a server that speaks TLS.
  if (!seen.some(isAnswer)) {
    return { verdict: 'unchecked', mismatches, unknowns: [uncheckedBecause(seen)], remarks };
  }
  for (const { version, outcome, why = '', suites, groups, unfinished } of seen) {
    const standing = itemStandingOf(version, profile);
    if (outcome !== 'accepted' && outcome !== 'refused')
      unknowns.push({ code: 'VERSION_UNKNOWN', message: `${version}: ${why}` });
    if (outcome === 'refused' && standing === 'asked') {
      const message = `refuses ${version} (${why}), which the profile asks for`;
      mismatches.push({ code: 'VERSION_REFUSED', message });
    }
    if (outcome !== 'accepted') continue;
    if (unfinished !== undefined)
      unknowns.push({ code: 'LIST_UNFINISHED', message: `${version}: ${unfinished} before all was tried` });
    if (standing === 'forbidden') {
      const message = `accepts ${version}; the profile starts at ${FLOOR[profile.minTLSVersion]}`;
      mismatches.push({ code: 'VERSION_ACCEPTED', message });
      continue;
    }
    const names = suites.map(suiteName);
    const unlisted = names.filter((suite) => !isListed(profile.ciphers, suite));
    if (unlisted.length > 0)
      mismatches.push({
        code: 'SUITE_ACCEPTED',
        message: `accepts suites over ${version} that the profile does not list: ${unlisted.join(', ')}`,
      });
    if (standing === 'asked' && unlisted.length === names.length)
      mismatches.push({
        code: 'NO_COMMON_SUITE',
        message: `accepts no suite of the profile over ${version}`,
      });
    if (otherGroups === 'unjudged' || groups.length === 0) continue;
    const strange = groups.map(tlsGroupName).filter((group) => !isListed(profile.groups, group));
    if (strange.length > 0)
      (otherGroups === 'mismatch' ? mismatches : remarks).push({
        code: 'GROUP_ACCEPTED',
        message: `accepts groups over ${version} that the profile does not list: ${strange.join(', ')}`,
      });
    if (strange.length === groups.length)
      mismatches.push({
        code: 'NO_COMMON_GROUP',
        message: `accepts no group of the profile over ${version}`,
      });
  }
  remarks.push(...missing(seen, profile, otherGroups !== 'unjudged'));
  if (seen.some(({ asksForCertificate }) => asksForCertificate))
    remarks.push({ code: 'CLIENT_CERTIFICATE', message: 'asks for a client certificate; none was shown' });
  if (seen.every(({ why }) => why === 'unrecognized_name'))
    remarks.push({
      code: 'NAME_UNKNOWN',
      message: 'does not know the server name; give the right one with --servername',
    });
  const verdict = mismatches.length > 0 ? 'mismatch' : unknowns.length > 0 ? 'inconclusive' : 'match';
  return { verdict, mismatches, unknowns, remarks };
}

function uncheckedBecause(seen: readonly VersionSeen[]): JudgedItem {
  const [{ outcome, why = '' } = { outcome: 'unreachable' as const }] = seen;
  switch (outcome) {
    case 'unreachable':
      return { code: 'UNREACHABLE', message: `could not connect (${why})` };
    case 'timeout':
      return { code: 'SILENT', message: `connected, then ${why}` };
    case 'not-tls':
      return { code: 'NOT_TLS', message: why };
    case 'accepted':
    case 'refused':
      return { code: 'CLOSED', message: 'closes every connection without TLS' };
    default:
      return outcome satisfies never;
  }
}

/** What the profile lists and the server does not accept, by choice or because of its key. */
function missing(
  seen: readonly VersionSeen[],
  profile: TlsProfile,
  judgesGroups: boolean,
): readonly JudgedItem[] {
  const taken = [...new Set(seen.flatMap(({ suites }) => suites.map(suiteName)))];
  if (taken.length === 0) return [];
  const keys = new Set(taken.map(authenticationOf));
  const lacks = profile.ciphers.filter((suite) => !isListed(taken, suite));
  const byKey = lacks.filter((suite) => {
    const key = authenticationOf(suite);
    return key !== undefined && !keys.has(key) && keys.size > (keys.has(undefined) ? 1 : 0);
  });
  const byChoice = lacks.filter((suite) => !byKey.includes(suite));
  const groups = [...new Set(seen.flatMap((version) => version.groups.map(tlsGroupName)))];
  const lacksGroups =
    judgesGroups && groups.length > 0 ? profile.groups.filter((group) => !isListed(groups, group)) : [];
  return [
    ...(byKey.length === 0
      ? []
      : [{ code: 'SUITES_OF_ANOTHER_KEY', message: `its key cannot serve ${byKey.join(', ')}` }]),
    ...(byChoice.length === 0
      ? []
      : [{ code: 'SUITES_NOT_TAKEN', message: `does not accept ${byChoice.join(', ')}` }]),
    ...(lacksGroups.length === 0
      ? []
      : [{ code: 'GROUPS_NOT_TAKEN', message: `does not accept the groups ${lacksGroups.join(', ')}` }]),
  ];
}
