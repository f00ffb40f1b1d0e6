import type { TlsProfile, TlsVersion } from '@handover/material';
import { groupName, speaks, suiteName, VERSION_NAMES, type Version } from './names.ts';
import { CLOSED } from './offer.ts';
import type { VersionSeen } from './survey.ts';

export interface Finding {
  readonly code: string;
  readonly message: string;
}

/** What a server is held against. */
export interface TlsYardstick {
  readonly profile: TlsProfile;
  /**
   * What a group that the profile does not list is: wrong, where somebody listed them by hand; worth a remark, where they are those
   * of a named profile, since every TLS library takes more unless told; nothing, where the profile has no list.
   */
  readonly otherGroups: 'mismatch' | 'remark' | 'unjudged';
}

export interface Judgement {
  /** `unchecked`: nothing was learned. `inconclusive`: nothing wrong was seen, and not all was seen. */
  readonly verdict: 'match' | 'mismatch' | 'inconclusive' | 'unchecked';
  readonly mismatches: readonly Finding[];
  readonly unknowns: readonly Finding[];
  readonly remarks: readonly Finding[];
}

const FLOOR = {
  VersionTLS10: 'TLS 1.0',
  VersionTLS11: 'TLS 1.1',
  VersionTLS12: 'TLS 1.2',
  VersionTLS13: 'TLS 1.3',
} as const satisfies Record<TlsVersion, Version>;

export type Standing = 'forbidden' | 'asked';

/** A profile asks for every version from its minimum on that one of its suites belongs to; it forbids what lies below. */
export const standingOf = (
  version: Version,
  { ciphers, minTLSVersion }: TlsProfile,
): Standing | undefined => {
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

/** What a server does, against what a profile says. Pure. */
export function judgeTls(seen: readonly VersionSeen[], { profile, otherGroups }: TlsYardstick): Judgement {
  const mismatches: Finding[] = [];
  const unknowns: Finding[] = [];
  const remarks: Finding[] = [];
  const isAnswer = ({ outcome, why }: VersionSeen): boolean =>
    outcome === 'accepted' || (outcome === 'refused' && why !== CLOSED);
  // To close a connection is a way to refuse, but only of somebody who speaks TLS at all.
  if (!seen.some(isAnswer)) {
    return { verdict: 'unchecked', mismatches, unknowns: [uncheckedBecause(seen)], remarks };
  }
  for (const { version, outcome, why = '', suites, groups, unfinished } of seen) {
    const standing = standingOf(version, profile);
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
      const message = `accepts ${version}; the profile begins at ${FLOOR[profile.minTLSVersion]}`;
      mismatches.push({ code: 'VERSION_ACCEPTED', message });
      continue;
    }
    const names = suites.map(suiteName);
    const unlisted = names.filter((suite) => !isListed(profile.ciphers, suite));
    if (unlisted.length > 0)
      mismatches.push({
        code: 'SUITE_ACCEPTED',
        message: `accepts over ${version} what the profile does not list: ${unlisted.join(', ')}`,
      });
    if (standing === 'asked' && unlisted.length === names.length)
      mismatches.push({
        code: 'NO_COMMON_SUITE',
        message: `takes no suite of the profile over ${version}`,
      });
    if (otherGroups === 'unjudged' || groups.length === 0) continue;
    const strange = groups.map(groupName).filter((group) => !isListed(profile.groups, group));
    if (strange.length > 0)
      (otherGroups === 'mismatch' ? mismatches : remarks).push({
        code: 'GROUP_ACCEPTED',
        message: `accepts over ${version} groups that the profile does not list: ${strange.join(', ')}`,
      });
    if (strange.length === groups.length)
      mismatches.push({ code: 'NO_COMMON_GROUP', message: `takes no group of the profile over ${version}` });
  }
  remarks.push(...missing(seen, profile, otherGroups !== 'unjudged'));
  if (seen.some(({ asksForCertificate }) => asksForCertificate))
    remarks.push({ code: 'CLIENT_CERTIFICATE', message: 'asks for a client certificate; none was shown' });
  if (seen.every(({ why }) => why === 'unrecognized_name'))
    remarks.push({
      code: 'NAME_UNKNOWN',
      message: 'knows no server of that name; give the right one with --servername',
    });
  const verdict = mismatches.length > 0 ? 'mismatch' : unknowns.length > 0 ? 'inconclusive' : 'match';
  return { verdict, mismatches, unknowns, remarks };
}

function uncheckedBecause(seen: readonly VersionSeen[]): Finding {
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
      return { code: 'CLOSED', message: 'closes every connection without a word of TLS' };
    default:
      return outcome satisfies never;
  }
}

/** What the profile lists and the server does not take: its own choice, or that of its key. */
function missing(
  seen: readonly VersionSeen[],
  profile: TlsProfile,
  judgesGroups: boolean,
): readonly Finding[] {
  const taken = [...new Set(seen.flatMap(({ suites }) => suites.map(suiteName)))];
  if (taken.length === 0) return [];
  const keys = new Set(taken.map(authenticationOf));
  const lacks = profile.ciphers.filter((suite) => !isListed(taken, suite));
  const byKey = lacks.filter((suite) => {
    const key = authenticationOf(suite);
    return key !== undefined && !keys.has(key) && keys.size > (keys.has(undefined) ? 1 : 0);
  });
  const byChoice = lacks.filter((suite) => !byKey.includes(suite));
  const groups = [...new Set(seen.flatMap((version) => version.groups.map(groupName)))];
  const lacksGroups =
    judgesGroups && groups.length > 0 ? profile.groups.filter((group) => !isListed(groups, group)) : [];
  return [
    ...(byKey.length === 0
      ? []
      : [{ code: 'SUITES_OF_ANOTHER_KEY', message: `its key cannot serve ${byKey.join(', ')}` }]),
    ...(byChoice.length === 0
      ? []
      : [{ code: 'SUITES_NOT_TAKEN', message: `does not take ${byChoice.join(', ')}` }]),
    ...(lacksGroups.length === 0
      ? []
      : [{ code: 'GROUPS_NOT_TAKEN', message: `does not take the groups ${lacksGroups.join(', ')}` }]),
  ];
}
