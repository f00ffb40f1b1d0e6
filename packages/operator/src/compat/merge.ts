import { type Certificate, type Instant, isExpired } from '@handover/material';

/** Expired anchors leave a bundle late, because clocks differ: DESIGN, certificate profile. */
const LATE_MS = 3_600_000;

const stillCounts = (certificate: Certificate, now: Instant): boolean =>
  !isExpired(certificate, (now - LATE_MS) as Instant);

const newestFirst = (a: Certificate, b: Certificate): number =>
  b.notBefore - a.notBefore || (a.fingerprint < b.fingerprint ? -1 : a.fingerprint > b.fingerprint ? 1 : 0);

/**
 * What goes into a caBundle whose source another program owns: the source's CAs, and earlier ones from it that have not expired.
 * Nothing shows when the last old leaf is gone, so an old CA stays as long as it could be of use. The same
 * certificates always come in the same order. Empty only if both are.
 */
export const merged = (
  source: readonly Certificate[],
  putThere: readonly Certificate[],
  now: Instant,
): readonly Certificate[] => {
  const all = new Map([...putThere, ...source].map((certificate) => [certificate.fingerprint, certificate]));
  const current = [...all.values()].filter((certificate) => stillCounts(certificate, now));
  // A bundle with only expired CAs trusts no server; an empty one trusts the system's roots.
  return (
    current.length > 0 ? current : [...new Map(source.map((one) => [one.fingerprint, one])).values()]
  ).sort(newestFirst);
};
