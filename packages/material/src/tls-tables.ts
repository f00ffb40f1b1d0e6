/** Mozilla's server-side TLS recommendations, 5.8, as openshift/api names and orders them. */

export type TlsVersion = 'VersionTLS10' | 'VersionTLS11' | 'VersionTLS12' | 'VersionTLS13';
export type NodeTlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

/** From oldest to newest. */
export const TLS_VERSIONS = {
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
} as const satisfies Record<TlsVersion, NodeTlsVersion>;

export const TLS13_SUITES = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
] as const;

/** Further suites of TLS 1.3, which no profile lists: RFC 8446 §B.4. */
const RARE_TLS13_SUITES = ['TLS_AES_128_CCM_SHA256', 'TLS_AES_128_CCM_8_SHA256'];

export const isTls13Suite = (cipher: string): boolean =>
  TLS13_SUITES.some((suite) => suite === cipher) || RARE_TLS13_SUITES.includes(cipher);

export const DEFAULT_GROUPS = ['X25519MLKEM768', 'X25519', 'secp256r1', 'secp384r1'] as const;

const both = (cipher: string): readonly string[] => [`ECDHE-ECDSA-${cipher}`, `ECDHE-RSA-${cipher}`];

const INTERMEDIATE: readonly string[] = [
  ...TLS13_SUITES,
  ...['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].flatMap(both),
];

const OLD: readonly string[] = [
  ...INTERMEDIATE,
  ...['AES128-SHA256', 'AES128-SHA', 'AES256-SHA384', 'AES256-SHA'].flatMap(both),
  'AES128-GCM-SHA256',
  'AES256-GCM-SHA384',
  'AES128-SHA256',
  'AES256-SHA256',
  'AES128-SHA',
  'AES256-SHA',
  'DES-CBC3-SHA',
];

export const NAMED_PROFILES = {
  Old: { ciphers: OLD, minTLSVersion: 'VersionTLS10' },
  Intermediate: { ciphers: INTERMEDIATE, minTLSVersion: 'VersionTLS12' },
  Modern: { ciphers: TLS13_SUITES, minTLSVersion: 'VersionTLS13' },
} as const satisfies Record<string, { ciphers: readonly string[]; minTLSVersion: TlsVersion }>;

/** OpenSSL's names → those of Go's crypto/tls. Go has no CBC suites with SHA-384, nor AES256-SHA256. */
export const GO_CIPHERS: Readonly<Record<string, string>> = {
  TLS_AES_128_GCM_SHA256: 'TLS_AES_128_GCM_SHA256',
  TLS_AES_256_GCM_SHA384: 'TLS_AES_256_GCM_SHA384',
  TLS_CHACHA20_POLY1305_SHA256: 'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256': 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256': 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384': 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384': 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305': 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'ECDHE-RSA-CHACHA20-POLY1305': 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-SHA256': 'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256',
  'ECDHE-RSA-AES128-SHA256': 'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256',
  'ECDHE-ECDSA-AES128-SHA': 'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA',
  'ECDHE-RSA-AES128-SHA': 'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA',
  'ECDHE-ECDSA-AES256-SHA': 'TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA',
  'ECDHE-RSA-AES256-SHA': 'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA',
  'AES128-GCM-SHA256': 'TLS_RSA_WITH_AES_128_GCM_SHA256',
  'AES256-GCM-SHA384': 'TLS_RSA_WITH_AES_256_GCM_SHA384',
  'AES128-SHA256': 'TLS_RSA_WITH_AES_128_CBC_SHA256',
  'AES128-SHA': 'TLS_RSA_WITH_AES_128_CBC_SHA',
  'AES256-SHA': 'TLS_RSA_WITH_AES_256_CBC_SHA',
  'DES-CBC3-SHA': 'TLS_RSA_WITH_3DES_EDE_CBC_SHA',
};

/** Names of one group by IANA, SECG, NIST and OpenSSL. The first is ours, the second works in OpenSSL 1 to 3. */
export const GROUP_NAMES: readonly (readonly [string, string, ...string[]])[] = [
  ['secp256r1', 'P-256', 'prime256v1'],
  ['secp384r1', 'P-384'],
  ['secp521r1', 'P-521'],
];

/** Groups with ML-KEM. OpenSSL before 3.5 does not know them, and refuses a whole list for one unknown group. */
export const HYBRID_GROUPS: readonly string[] = ['X25519MLKEM768', 'SecP256r1MLKEM768', 'SecP384r1MLKEM1024'];

/** Names in profiles that today's OpenSSL often lacks: most builds leave out 3DES, and not all have ML-KEM yet. */
export const OFTEN_MISSING: readonly string[] = [...HYBRID_GROUPS, 'DES-CBC3-SHA'];

/** Our names → the constants of Go's crypto/tls. */
export const GO_GROUPS: Readonly<Record<string, string>> = {
  x25519mlkem768: 'X25519MLKEM768',
  secp256r1mlkem768: 'SecP256r1MLKEM768',
  secp384r1mlkem1024: 'SecP384r1MLKEM1024',
  x25519: 'X25519',
  secp256r1: 'CurveP256',
  secp384r1: 'CurveP384',
  secp521r1: 'CurveP521',
};

/** Suites below TLS 1.3 of Envoy's BoringSSL, under OpenSSL's names. It refuses a whole list for one unknown suite. */
export const BORING_CIPHERS: readonly string[] = [
  ...['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305', 'AES128-SHA', 'AES256-SHA'].flatMap(
    both,
  ),
  'AES128-GCM-SHA256',
  'AES256-GCM-SHA384',
  'AES128-SHA',
  'AES256-SHA',
];

/** Our names → those of BoringSSL. */
export const BORING_GROUPS: Readonly<Record<string, string>> = {
  x25519: 'X25519',
  secp256r1: 'P-256',
  secp384r1: 'P-384',
  secp521r1: 'P-521',
};
