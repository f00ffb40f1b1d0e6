export { type Bundle, bundleOf, carryOver, diffBundles, parseBundle, unexpired } from './bundle.ts';
export { type Certificate, isExpired, parseCertificate, parseCertificates } from './certificate.ts';
export { HandoverError, type HandoverErrorOptions, type Retry } from './error.ts';
export type { NameConstraints } from './extensions.ts';
export type { GeneralName } from './general-name.ts';
export type { Name } from './name.ts';
export { encodePem, type Junk, MAX_PEM_BYTES, type PemBlock, parsePem } from './pem.ts';
export { after, type Duration, day, duration, hour, type Instant, instant, minute, second } from './time.ts';
