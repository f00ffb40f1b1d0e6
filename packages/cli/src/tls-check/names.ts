/** Protocol versions to try, oldest first, with their numbers on the wire. */
export const VERSIONS = {
  'TLS 1.0': 0x0301,
  'TLS 1.1': 0x0302,
  'TLS 1.2': 0x0303,
  'TLS 1.3': 0x0304,
} as const;

export type Version = keyof typeof VERSIONS;
export const VERSION_NAMES = Object.keys(VERSIONS) as readonly Version[];

/** The wire's numbers (hex) and OpenSSL's names, as IANA's registry has them. No PSK and no SRP: they need a secret first. */
const SUITES_OF_TLS13 = `
1301 TLS_AES_128_GCM_SHA256 1302 TLS_AES_256_GCM_SHA384 1303 TLS_CHACHA20_POLY1305_SHA256
1304 TLS_AES_128_CCM_SHA256 1305 TLS_AES_128_CCM_8_SHA256`;

const OLDER_SUITES = `
c02b ECDHE-ECDSA-AES128-GCM-SHA256 c02f ECDHE-RSA-AES128-GCM-SHA256
c02c ECDHE-ECDSA-AES256-GCM-SHA384 c030 ECDHE-RSA-AES256-GCM-SHA384
cca9 ECDHE-ECDSA-CHACHA20-POLY1305 cca8 ECDHE-RSA-CHACHA20-POLY1305
c023 ECDHE-ECDSA-AES128-SHA256 c027 ECDHE-RSA-AES128-SHA256 c009 ECDHE-ECDSA-AES128-SHA c013 ECDHE-RSA-AES128-SHA
c024 ECDHE-ECDSA-AES256-SHA384 c028 ECDHE-RSA-AES256-SHA384 c00a ECDHE-ECDSA-AES256-SHA c014 ECDHE-RSA-AES256-SHA
009c AES128-GCM-SHA256 009d AES256-GCM-SHA384 003c AES128-SHA256 003d AES256-SHA256 002f AES128-SHA 0035 AES256-SHA
000a DES-CBC3-SHA
c0ac ECDHE-ECDSA-AES128-CCM c0ad ECDHE-ECDSA-AES256-CCM c0ae ECDHE-ECDSA-AES128-CCM8 c0af ECDHE-ECDSA-AES256-CCM8
c072 ECDHE-ECDSA-CAMELLIA128-SHA256 c073 ECDHE-ECDSA-CAMELLIA256-SHA384
c076 ECDHE-RSA-CAMELLIA128-SHA256 c077 ECDHE-RSA-CAMELLIA256-SHA384
c05c ECDHE-ECDSA-ARIA128-GCM-SHA256 c05d ECDHE-ECDSA-ARIA256-GCM-SHA384
c060 ECDHE-ARIA128-GCM-SHA256 c061 ECDHE-ARIA256-GCM-SHA384
c008 ECDHE-ECDSA-DES-CBC3-SHA c012 ECDHE-RSA-DES-CBC3-SHA c007 ECDHE-ECDSA-RC4-SHA c011 ECDHE-RSA-RC4-SHA
c006 ECDHE-ECDSA-NULL-SHA c010 ECDHE-RSA-NULL-SHA
009e DHE-RSA-AES128-GCM-SHA256 009f DHE-RSA-AES256-GCM-SHA384 ccaa DHE-RSA-CHACHA20-POLY1305
0067 DHE-RSA-AES128-SHA256 006b DHE-RSA-AES256-SHA256 0033 DHE-RSA-AES128-SHA 0039 DHE-RSA-AES256-SHA
c09e DHE-RSA-AES128-CCM c09f DHE-RSA-AES256-CCM c0a2 DHE-RSA-AES128-CCM8 c0a3 DHE-RSA-AES256-CCM8
0045 DHE-RSA-CAMELLIA128-SHA 0088 DHE-RSA-CAMELLIA256-SHA
00be DHE-RSA-CAMELLIA128-SHA256 00c4 DHE-RSA-CAMELLIA256-SHA256
c052 DHE-RSA-ARIA128-GCM-SHA256 c053 DHE-RSA-ARIA256-GCM-SHA384 0016 DHE-RSA-DES-CBC3-SHA
00a2 DHE-DSS-AES128-GCM-SHA256 00a3 DHE-DSS-AES256-GCM-SHA384 0040 DHE-DSS-AES128-SHA256 006a DHE-DSS-AES256-SHA256
0032 DHE-DSS-AES128-SHA 0038 DHE-DSS-AES256-SHA 0013 DHE-DSS-DES-CBC3-SHA
0044 DHE-DSS-CAMELLIA128-SHA 0087 DHE-DSS-CAMELLIA256-SHA
00bd DHE-DSS-CAMELLIA128-SHA256 00c3 DHE-DSS-CAMELLIA256-SHA256
c056 DHE-DSS-ARIA128-GCM-SHA256 c057 DHE-DSS-ARIA256-GCM-SHA384
c09c AES128-CCM c09d AES256-CCM c0a0 AES128-CCM8 c0a1 AES256-CCM8 c050 ARIA128-GCM-SHA256 c051 ARIA256-GCM-SHA384
0041 CAMELLIA128-SHA 0084 CAMELLIA256-SHA 00ba CAMELLIA128-SHA256 00c0 CAMELLIA256-SHA256
0007 IDEA-CBC-SHA 0096 SEED-SHA 0005 RC4-SHA 0004 RC4-MD5 0009 DES-CBC-SHA
003b NULL-SHA256 0002 NULL-SHA 0001 NULL-MD5
0003 EXP-RC4-MD5 0006 EXP-RC2-CBC-MD5 0008 EXP-DES-CBC-SHA 0014 EXP-DHE-RSA-DES-CBC-SHA
c018 AECDH-AES128-SHA c019 AECDH-AES256-SHA c017 AECDH-DES-CBC3-SHA c016 AECDH-RC4-SHA c015 AECDH-NULL-SHA
00a6 ADH-AES128-GCM-SHA256 00a7 ADH-AES256-GCM-SHA384 006c ADH-AES128-SHA256 006d ADH-AES256-SHA256
0034 ADH-AES128-SHA 003a ADH-AES256-SHA 0046 ADH-CAMELLIA128-SHA 0089 ADH-CAMELLIA256-SHA
00bf ADH-CAMELLIA128-SHA256 00c5 ADH-CAMELLIA256-SHA256 001b ADH-DES-CBC3-SHA 0018 ADH-RC4-MD5`;

/** Names as profiles have them; RFC 8446 §4.2.7, RFC 8422 §5.1.1, RFC 7919, and IANA's registry for the hybrids. */
const GROUPS = `
11ec X25519MLKEM768 001d X25519 0017 secp256r1 0018 secp384r1 0019 secp521r1 001e X448
11eb SecP256r1MLKEM768 11ed SecP384r1MLKEM1024
0016 secp256k1 0015 secp224r1 0013 secp192r1 001a brainpoolP256r1 001b brainpoolP384r1 001c brainpoolP512r1`;

/** Only in TLS 1.3: older versions have finite fields and these curves by other means. */
const GROUPS_OF_TLS13 = `
0100 ffdhe2048 0101 ffdhe3072 0102 ffdhe4096 0103 ffdhe6144 0104 ffdhe8192
001f brainpoolP256r1tls13 0020 brainpoolP384r1tls13 0021 brainpoolP512r1tls13`;

const table = (text: string): ReadonlyMap<number, string> => {
  const words = text.trim().split(/\s+/);
  return new Map(
    words.flatMap((hex, index) => (index % 2 === 0 ? [[parseInt(hex, 16), words[index + 1] ?? '']] : [])),
  );
};

const TLS13 = table(SUITES_OF_TLS13);
const OLDER = table(OLDER_SUITES);
const SUITES = new Map([...TLS13, ...OLDER]);
const OLDER_GROUPS = table(GROUPS);
const ALL_GROUPS = new Map([...OLDER_GROUPS, ...table(GROUPS_OF_TLS13)]);

/** What is offered to find out what a server accepts. */
export const suitesFor = (version: Version): readonly number[] => [
  ...(version === 'TLS 1.3' ? TLS13 : OLDER).keys(),
];
export const groupsFor = (version: Version): readonly number[] => [
  ...(version === 'TLS 1.3' ? ALL_GROUPS : OLDER_GROUPS).keys(),
];

const hex = (code: number): string => `0x${code.toString(16).padStart(4, '0')}`;
export const suiteName = (code: number): string => SUITES.get(code) ?? hex(code);
export const tlsGroupName = (code: number): string => ALL_GROUPS.get(code) ?? hex(code);

/** Everything that can be offered, by name, whether the local OpenSSL has it or not. */
export const OFFERABLE = {
  ciphers: [...SUITES.values()],
  groups: [...ALL_GROUPS.values()],
} as const;

export const isEphemeralEc = (suite: number): boolean => /^A?ECDHE?-/.test(suiteName(suite));

/** Which versions a suite belongs to: AEAD and SHA-2 came with TLS 1.2 (RFC 5246 §1.2). */
export const speaks = (version: Version, suite: string): boolean => {
  if (suite.startsWith('TLS_')) return version === 'TLS 1.3';
  if (version === 'TLS 1.3') return false;
  return version === 'TLS 1.2' || !/GCM|CCM|POLY1305|SHA256|SHA384/.test(suite);
};

/** RFC 8446 §6, and the older ones of RFC 5246 §7.2. */
const ALERTS: Readonly<Record<number, string>> = {
  0: 'close_notify',
  10: 'unexpected_message',
  20: 'bad_record_mac',
  40: 'handshake_failure',
  42: 'bad_certificate',
  47: 'illegal_parameter',
  49: 'access_denied',
  50: 'decode_error',
  51: 'decrypt_error',
  70: 'protocol_version',
  71: 'insufficient_security',
  80: 'internal_error',
  86: 'inappropriate_fallback',
  90: 'user_canceled',
  109: 'missing_extension',
  110: 'unsupported_extension',
  112: 'unrecognized_name',
  116: 'certificate_required',
  120: 'no_application_protocol',
};

export const alertName = (code: number): string => ALERTS[code] ?? `alert ${code}`;
