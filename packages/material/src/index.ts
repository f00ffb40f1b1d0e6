export { type Bundle, bundleOf, parseBundle } from './bundle.ts';
export { bufferOf, bytesOf, sameBytes, textOf } from './bytes.ts';
export { type Certificate, isExpired, parseCertificate, parseCertificates } from './certificate.ts';
export type { Purpose } from './chain.ts';
export { nameOf, type Verdict, verifyChain } from './chain.ts';
export type { Clock, Timer } from './clock.ts';
export { DerReader, readOid, readSmallInteger, TAG as DER_TAG } from './der.ts';
export {
  codeCheck,
  HandoverError,
  type HandoverErrorOptions,
  type MaterialErrorCode,
  type Retry,
} from './error.ts';
export type { NameConstraints } from './extensions.ts';
export type { GeneralName } from './general-name.ts';
export { isMap, type Json, recordOf } from './json.ts';
export { PrivateKey, Unprintable } from './keys.ts';
export { Listeners } from './listeners.ts';
export type { Name } from './name.ts';
export { checkName } from './name-constraints.ts';
export {
  encodePem,
  type Junk,
  MAX_PEM_BYTES,
  parsePem,
} from './pem.ts';
export { printable, printableIn, withoutControls } from './printable.ts';
export { parseSigningRequest, type SigningRequest } from './signing-request.ts';
export { LEAF_METRIC, MAX_STATUS_BYTES, METRICS_PATH, STATUS_PATH, TRUST_METRIC } from './status-path.ts';
export {
  after,
  type Duration,
  day,
  duration,
  hour,
  type Instant,
  instant,
  iso,
  isoSeconds,
  minute,
  second,
} from './time.ts';
export { TLS_PROFILE_FILES, TLS_PROFILE_HASH, TLS_PROFILE_PATH, tlsProfileFiles } from './tls-files.ts';
export {
  goCipherNames,
  nodeTlsOptions,
  parseTlsProfileJson,
  type ResolvedTlsProfile,
  resolveTlsProfile,
  type TlsProfile,
  type TlsProfileWarning,
  type TlsSupport,
} from './tls-profile.ts';
export { OFTEN_MISSING, type TlsVersion } from './tls-tables.ts';
export { isUnknownAuthority } from './unknown-authority.ts';
export { VirtualClock } from './virtual-clock.ts';
