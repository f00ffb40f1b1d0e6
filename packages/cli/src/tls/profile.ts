import { parseTlsProfileJson, type ResolvedTlsProfile, resolveTlsProfile } from '@handover/material';
import { readInput } from '../inspect/read-input.ts';
import type { TlsYardstick } from '../tls-check/judge.ts';
import { OFFERABLE } from '../tls-check/names.ts';

export const PROFILES = ['Old', 'Intermediate', 'Modern'] as const;

export interface NamedYardstick extends TlsYardstick {
  readonly name: string;
  /** Unknown names in the profile, which cannot be offered. */
  readonly notTried: readonly string[];
}

const UNSUPPORTED = ['TLS_PROFILE_CIPHERS_UNSUPPORTED', 'TLS_PROFILE_GROUPS_UNSUPPORTED'];

/** Suites and groups are offered by number: only a name without a number cannot be. */
const namesLost = ({ warnings, json, profile }: ResolvedTlsProfile): readonly string[] => {
  if (!warnings.some(({ code }) => UNSUPPORTED.includes(code))) return [];
  const { ciphers, groups } = JSON.parse(json) as { ciphers: string[]; groups: string[] };
  return [
    ...ciphers.filter((name) => !profile.ciphers.includes(name)),
    ...groups.filter((name) => !profile.groups.includes(name)),
  ];
};

const measure = (
  name: string,
  resolved: ResolvedTlsProfile,
  otherGroups: TlsYardstick['otherGroups'],
): NamedYardstick => ({
  name,
  profile: resolved.profile,
  otherGroups,
  notTried: namesLost(resolved),
});

/** The profile to compare with: by name, or from a file. */
export async function yardstickOf(
  { profile, profileFile }: { readonly profile: string; readonly profileFile?: string },
  stdin: AsyncIterable<Uint8Array>,
): Promise<NamedYardstick> {
  if (profileFile === undefined)
    return measure(profile, resolveTlsProfile({ type: profile }, OFFERABLE), 'remark');
  const text = (await readInput(profileFile, stdin)).toString('utf8');
  const resolved = parseTlsProfileJson(text, OFFERABLE);
  const { groups } = JSON.parse(text.replace(/^\ufeff/, '')) as { groups?: unknown };
  const name = profileFile === '-' ? 'standard input' : profileFile;
  // Upstream's format has no groups: then groups are not judged.
  const otherGroups = groups === undefined ? 'unjudged' : 'mismatch';
  return measure(name, resolved, resolved.profile.type === 'Custom' ? otherGroups : 'remark');
}
