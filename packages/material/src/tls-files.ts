import {
  goCipherNames,
  groupName,
  nodeTlsOptions,
  openSslGroup,
  type ResolvedTlsProfile,
} from './tls-profile.ts';
import {
  BORING_CIPHERS,
  BORING_GROUPS,
  GO_GROUPS,
  HYBRID_GROUPS,
  isTls13Suite,
  TLS_VERSIONS,
  type TlsVersion,
} from './tls-tables.ts';

/** Annotation with the SHA-256 of `profile.json` that a pod was started with. */
export const TLS_PROFILE_HASH = 'handover.dev/tls-profile-hash';

/**
 * Where the recipe for pods mounts a TLS profile. `profile.Path` of the Go client is the same.
 *
 * @example
 * ```ts
 * import { TLS_PROFILE_PATH } from '@handover/runtime';
 *
 * console.log(TLS_PROFILE_PATH); // /etc/tls-profile/profile.json
 * ```
 */
export const TLS_PROFILE_PATH = '/etc/tls-profile/profile.json';

/** Files of a profile: the profile itself, which is hashed, and the same settings in the formats of other programs. */
export const TLS_PROFILE_FILES = [
  'profile.json',
  'openssl.cnf',
  'node.json',
  'go.json',
  'nginx.conf',
  'envoy.yaml',
] as const;
type ProfileFile = (typeof TLS_PROFILE_FILES)[number];

const VERSIONS = Object.keys(TLS_VERSIONS) as readonly TlsVersion[];

const hybrid = new Set(HYBRID_GROUPS.map((name) => name.toLowerCase()));

/**
 * Settings for programs with an unknown OpenSSL version. A resolved profile holds no name that OpenSSL reads as a keyword
 * (`ALL`). Groups that make an older OpenSSL refuse the whole list are left out.
 */
const portable = ({ profile }: ResolvedTlsProfile) => {
  const classic = profile.groups.filter((name) => !hybrid.has(name.toLowerCase()));
  const groups = classic.length === 0 ? profile.groups : classic;
  const suites = profile.ciphers.filter(isTls13Suite);
  const below = profile.ciphers.filter((name) => !isTls13Suite(name));
  const from = VERSIONS.indexOf(profile.minTLSVersion);
  // Without a TLS 1.3 suite in the list, programs would still offer their default TLS 1.3 suites.
  const versions = VERSIONS.slice(from, suites.length === 0 ? VERSIONS.indexOf('VersionTLS13') : undefined);
  // OpenSSL 3 allows TLS 1.0 and 1.1 only at security level 0.
  const level = from < VERSIONS.indexOf('VersionTLS12') ? ['@SECLEVEL=0'] : [];
  const cipherString = profile.minTLSVersion === 'VersionTLS13' ? '' : [...below, ...level].join(':');
  return { profile: { ...profile, groups }, groups, suites, below, versions, cipherString };
};
type Portable = ReturnType<typeof portable>;

const lines = (...all: readonly (string | undefined)[]): string =>
  `${all.filter((line) => line !== undefined).join('\n')}\n`;
const nodeVersion = (version: TlsVersion | undefined): string => TLS_VERSIONS[version ?? 'VersionTLS13'];

/** For OPENSSL_CONF or an include; the last section is the profile. */
const opensslCnf = ({ versions, cipherString, suites, groups }: Portable): string =>
  lines(
    'openssl_conf = handover_init',
    '[handover_init]',
    'ssl_conf = handover_ssl',
    '[handover_ssl]',
    'system_default = handover_tls',
    '[handover_tls]',
    `MinProtocol = ${nodeVersion(versions[0])}`,
    `MaxProtocol = ${nodeVersion(versions.at(-1))}`,
    cipherString === '' ? undefined : `CipherString = ${cipherString}`,
    suites.length === 0 ? undefined : `Ciphersuites = ${suites.join(':')}`,
    `Groups = ${groups.map(openSslGroup).join(':')}`,
    'Options = ServerPreference',
  );

const nginxConf = ({ versions, cipherString, suites, groups }: Portable): string =>
  lines(
    `ssl_protocols ${versions.map(nodeVersion).join(' ')};`,
    cipherString === '' ? undefined : `ssl_ciphers ${cipherString};`,
    suites.length === 0 ? undefined : `ssl_conf_command Ciphersuites ${suites.join(':')};`,
    `ssl_ecdh_curve ${groups.map(openSslGroup).join(':')};`,
    'ssl_prefer_server_ciphers on;',
  );

const ENVOY_VERSIONS = {
  VersionTLS10: 'TLSv1_0',
  VersionTLS11: 'TLSv1_1',
  VersionTLS12: 'TLSv1_2',
  VersionTLS13: 'TLSv1_3',
} as const satisfies Record<TlsVersion, string>;

/** Envoy cannot choose TLS 1.3 suites, and takes its default list of older suites when it gets none: then only 1.3 is allowed. */
const envoyYaml = ({ versions, below, groups }: Portable): string => {
  const known = below.filter((name) => BORING_CIPHERS.includes(name));
  const wanted = known.length === 0 ? (['VersionTLS13'] as const) : versions;
  const curves = groups.flatMap((name) => BORING_GROUPS[groupName(name)] ?? []);
  const version = (at: TlsVersion | undefined): string => ENVOY_VERSIONS[at ?? 'VersionTLS13'];
  const list = (name: string, items: readonly string[]): readonly string[] =>
    items.length === 0 ? [] : [`  ${name}:`, ...items.map((item) => `  - ${item}`)];
  return lines(
    'tls_params:',
    `  tls_minimum_protocol_version: ${version(wanted[0])}`,
    `  tls_maximum_protocol_version: ${version(wanted.at(-1))}`,
    ...list('cipher_suites', wanted[0] === 'VersionTLS13' ? [] : known),
    ...list('ecdh_curves', curves),
  );
};

/** Names of Go's constants. A program leaves out the names that its Go version lacks. */
const goJson = ({ profile, json }: ResolvedTlsProfile): string => {
  const { groups } = JSON.parse(json) as { readonly groups: readonly string[] };
  return lines(
    JSON.stringify({
      MinVersion: profile.minTLSVersion,
      CipherSuites: goCipherNames(profile),
      CurvePreferences: groups.flatMap((name) => GO_GROUPS[groupName(name)] ?? []),
    }),
  );
};

/** The profile in every format. */
export const tlsProfileFiles = (resolved: ResolvedTlsProfile): Readonly<Record<ProfileFile, string>> => {
  const common = portable(resolved);
  return {
    'profile.json': resolved.json,
    'openssl.cnf': opensslCnf(common),
    'node.json': lines(JSON.stringify(nodeTlsOptions(common.profile))),
    'go.json': goJson(resolved),
    'nginx.conf': nginxConf(common),
    'envoy.yaml': envoyYaml(common),
  };
};
