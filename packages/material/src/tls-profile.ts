import { hash } from 'node:crypto';
import { MaterialError, type MaterialErrorCode } from './error.ts';
import {
  DEFAULT_GROUPS,
  GO_CIPHERS,
  GROUP_NAMES,
  isTls13Suite,
  NAMED_PROFILES,
  type NodeTlsVersion,
  TLS_VERSIONS,
  TLS13_SUITES,
  type TlsVersion,
} from './tls-tables.ts';

export type TlsProfileType = 'Old' | 'Intermediate' | 'Modern' | 'Custom';

export interface TlsProfile {
  readonly type: TlsProfileType;
  /** OpenSSL's names, with those of TLS 1.3, in order of preference. */
  readonly ciphers: readonly string[];
  readonly minTLSVersion: TlsVersion;
  readonly groups: readonly string[];
}

export interface TlsProfileWarning {
  readonly code:
    | 'TLS_PROFILE_CIPHERS_UNSUPPORTED'
    | 'TLS_PROFILE_GROUPS_UNSUPPORTED'
    | 'TLS_PROFILE_MINIMUM_RAISED';
  readonly message: string;
}

export interface ResolvedTlsProfile {
  /** The part of the profile that the local OpenSSL supports. */
  readonly profile: TlsProfile;
  /** Hex SHA-256 of `json`. */
  readonly hash: string;
  /**
   * The file for workloads: the whole profile, so that its hash does not depend on the local OpenSSL and a workload with a
   * newer OpenSSL gets all of it. A minimum that had to be raised is raised here too.
   */
  readonly json: string;
  readonly warnings: readonly TlsProfileWarning[];
}

/** Ciphers and groups of the local OpenSSL: names in any case, groups under any of their names. */
export interface TlsSupport {
  readonly ciphers: readonly string[];
  readonly groups: readonly string[];
  /** Names that give no warning when missing here, for programs that only hand a profile on. */
  readonly elsewhere?: readonly string[] | undefined;
}

interface CustomProfile {
  readonly ciphers?: readonly string[] | undefined;
  readonly minTLSVersion?: string | undefined;
  readonly groups?: readonly string[] | undefined;
}

const refuse = (code: MaterialErrorCode, message: string): never => {
  throw new MaterialError(code, message);
};

const VERSION_NAMES = Object.keys(TLS_VERSIONS) as readonly TlsVersion[];
const MAX_NAMES = 200;
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

export const groupName = (name: string): string => {
  const lower = name.toLowerCase();
  const known = GROUP_NAMES.find((aliases) => aliases.some((alias) => alias.toLowerCase() === lower));
  return known === undefined ? lower : known[0];
};

const list = (what: string, names: readonly string[] | undefined): readonly string[] => {
  const unique = [...new Set(names ?? [])];
  if (unique.length > MAX_NAMES)
    refuse('TLS_PROFILE_INVALID', `TLS profile lists over ${MAX_NAMES} ${what}; shorten it`);
  for (const name of unique) {
    if (!NAME.test(name)) {
      refuse(
        'TLS_PROFILE_INVALID',
        `TLS profile lists ${JSON.stringify(name.slice(0, 64))} under ${what}; write one name per entry`,
      );
    }
  }
  return unique;
};

const versionOf = (text: string | undefined): TlsVersion => {
  if (text === undefined || text === '') return 'VersionTLS12';
  return (
    VERSION_NAMES.find((name) => name === text) ??
    refuse(
      'TLS_PROFILE_UNKNOWN_VERSION',
      `TLS profile asks for version ${JSON.stringify(text.slice(0, 64))}; use one of ${VERSION_NAMES.join(', ')}`,
    )
  );
};

/**
 * Resolves a profile for the local OpenSSL. No type means Intermediate. Unsupported parts are warnings; a profile without
 * any supported cipher or group is refused, so that it is never rolled out.
 */
export function resolveTlsProfile(
  input: { readonly type?: string | undefined; readonly custom?: CustomProfile | undefined } | undefined,
  support: TlsSupport,
): ResolvedTlsProfile {
  const type = input?.type === undefined || input.type === '' ? 'Intermediate' : input.type;
  if (type === 'Old' || type === 'Intermediate' || type === 'Modern') {
    return resolve({ type, ...NAMED_PROFILES[type], groups: DEFAULT_GROUPS }, support);
  }
  if (type !== 'Custom') {
    return refuse(
      'TLS_PROFILE_UNKNOWN_TYPE',
      `TLS profile type ${JSON.stringify(type.slice(0, 64))} is unknown; use Old, Intermediate, Modern or Custom`,
    );
  }
  if (input?.custom === undefined || input.custom === null) {
    return refuse(
      'TLS_PROFILE_CUSTOM_EMPTY',
      'TLS profile of type Custom has no custom part; give ciphers and minTLSVersion',
    );
  }
  return resolve(asked(input.custom), support);
}

function asked(custom: CustomProfile): TlsProfile {
  const minTLSVersion = versionOf(custom.minTLSVersion);
  const ciphers = list('ciphers', custom.ciphers);
  const groups = list('groups', custom.groups);
  return {
    type: 'Custom',
    // TLS 1.3 alone is a complete profile; a lower minimum needs ciphers
    ciphers: ciphers.length === 0 && minTLSVersion === 'VersionTLS13' ? TLS13_SUITES : ciphers,
    minTLSVersion,
    groups: groups.length === 0 ? DEFAULT_GROUPS : groups,
  };
}

function resolve(wanted: TlsProfile, support: TlsSupport): ResolvedTlsProfile {
  const warnings: TlsProfileWarning[] = [];
  const warn = (code: TlsProfileWarning['code'], message: string): void =>
    void warnings.push({ code, message });
  const knownCiphers = new Set(support.ciphers.map((name) => name.toLowerCase()));
  const knownGroups = new Set(support.groups.map(groupName));
  const elsewhere = new Set((support.elsewhere ?? []).map((name) => name.toLowerCase()));
  const strange = (name: string): boolean => !elsewhere.has(name.toLowerCase());

  let { minTLSVersion } = wanted;
  if (minTLSVersion !== 'VersionTLS13' && wanted.ciphers.length > 0 && wanted.ciphers.every(isTls13Suite)) {
    warn(
      'TLS_PROFILE_MINIMUM_RAISED',
      `only TLS 1.3 ciphers are listed: minimum raised from ${minTLSVersion} to VersionTLS13`,
    );
    minTLSVersion = 'VersionTLS13';
  }

  const missing = wanted.ciphers.filter((name) => !knownCiphers.has(name.toLowerCase()));
  const ciphers = wanted.ciphers.filter((name) => knownCiphers.has(name.toLowerCase()));
  const usable = ciphers.filter((name) => isTls13Suite(name) === (minTLSVersion === 'VersionTLS13'));
  if (usable.length === 0) {
    refuse(
      'TLS_PROFILE_NO_CIPHER',
      minTLSVersion === 'VersionTLS13'
        ? 'TLS profile lists no supported TLS 1.3 cipher; add one'
        : `TLS profile lists no supported cipher below TLS 1.3 with minimum ${minTLSVersion}; add one, or raise the minimum`,
    );
  }
  const strangeCiphers = missing.filter(strange);
  if (strangeCiphers.length > 0)
    warn('TLS_PROFILE_CIPHERS_UNSUPPORTED', `ciphers not supported here: ${strangeCiphers.join(', ')}`);

  const groups = wanted.groups.filter((name) => knownGroups.has(groupName(name)));
  const missingGroups = wanted.groups.filter((name) => !knownGroups.has(groupName(name)));
  if (groups.length === 0)
    refuse(
      'TLS_PROFILE_NO_GROUP',
      `TLS profile lists no supported group (${missingGroups.join(', ')}); add one`,
    );
  const strangeGroups = missingGroups.filter(strange);
  if (strangeGroups.length > 0) {
    warn('TLS_PROFILE_GROUPS_UNSUPPORTED', `groups not supported here: ${strangeGroups.join(', ')}`);
  }

  const json = JSON.stringify({ ciphers: wanted.ciphers, minTLSVersion, groups: wanted.groups });
  return {
    profile: { type: wanted.type, ciphers, minTLSVersion, groups },
    hash: hash('sha256', json, 'hex'),
    json,
    warnings,
  };
}

const isNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Reads the profile file of a workload. Refuses unknown fields. */
export function parseTlsProfileJson(json: string, support: TlsSupport): ResolvedTlsProfile {
  const invalid = (why: string): never => refuse('TLS_PROFILE_INVALID', `TLS profile file ${why}`);
  if (json.length > 65_536) return invalid('is over 64 KiB; it should be one small JSON object');
  let value: unknown;
  try {
    value = JSON.parse(json.charCodeAt(0) === 0xfeff ? json.slice(1) : json);
  } catch {
    return invalid('is not JSON; write it again');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return invalid('is not a JSON object');
  const { ciphers, minTLSVersion, groups, ...others } = value as Readonly<Record<string, unknown>>;
  const [other] = Object.keys(others);
  if (other !== undefined) return invalid(`has an unknown field ${JSON.stringify(other.slice(0, 64))}`);
  if (!isNames(ciphers)) return invalid('needs "ciphers", a list of names');
  if (groups !== undefined && !isNames(groups)) return invalid('has "groups" that is not a list of names');
  if (minTLSVersion !== undefined && typeof minTLSVersion !== 'string')
    return invalid('has a "minTLSVersion" that is not text');
  const wanted = asked({ ciphers, minTLSVersion, groups });
  return resolve({ ...wanted, type: typeOf(wanted) }, support);
}

/** The file does not name its profile type, so it is found by content. */
function typeOf({ ciphers, minTLSVersion, groups }: TlsProfile): TlsProfileType {
  const same = (a: readonly string[], b: readonly string[]): boolean => a.join() === b.join();
  for (const type of ['Old', 'Intermediate', 'Modern'] as const) {
    const named = NAMED_PROFILES[type];
    if (same(named.ciphers, ciphers) && named.minTLSVersion === minTLSVersion && same(DEFAULT_GROUPS, groups))
      return type;
  }
  return 'Custom';
}

export interface NodeTlsOptions {
  readonly minVersion: NodeTlsVersion;
  readonly maxVersion?: NodeTlsVersion;
  readonly ciphers: string;
  readonly ecdhCurve: string;
  readonly honorCipherOrder: true;
}

/** Options for node:tls. Takes a resolved profile, because one unknown group makes OpenSSL refuse the whole list. */
export function nodeTlsOptions(profile: TlsProfile): NodeTlsOptions {
  const { minTLSVersion } = profile;
  const ciphers = [...profile.ciphers];
  // OpenSSL 3 allows TLS 1.0 and 1.1, whose handshakes use SHA-1, only at security level 0
  if (minTLSVersion === 'VersionTLS10' || minTLSVersion === 'VersionTLS11') ciphers.push('@SECLEVEL=0');
  const options: NodeTlsOptions = {
    minVersion: TLS_VERSIONS[minTLSVersion],
    ciphers: ciphers.join(':'),
    ecdhCurve: profile.groups.map(openSslGroup).join(':'),
    honorCipherOrder: true,
  };
  // Without a TLS 1.3 suite in the list, OpenSSL would still offer its default TLS 1.3 suites
  return profile.ciphers.some(isTls13Suite) ? options : { ...options, maxVersion: 'TLSv1.2' };
}

export const openSslGroup = (name: string): string => {
  const canonical = groupName(name);
  return GROUP_NAMES.find(([ours]) => ours === canonical)?.[1] ?? name;
};

/** The profile's ciphers under the names of Go's crypto/tls; ciphers that Go lacks are left out. */
export const goCipherNames = (profile: TlsProfile): readonly string[] =>
  profile.ciphers.flatMap((name) => GO_CIPHERS[name] ?? []);
