import { bundleOf, type Certificate, type Instant, isExpired } from '@handover/material';

/** Expired anchors leave a bundle late, because clocks differ: DESIGN, certificate profile. */
const LATE_MS = 3_600_000;

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
  const late = (now - LATE_MS) as Instant;
  const current = [...putThere, ...source].filter((certificate) => !isExpired(certificate, late));
  // A bundle with only expired CAs trusts no server; an empty one trusts the system's roots.
  const kept = current.length > 0 ? current : source;
  return kept.length === 0 ? [] : bundleOf(kept).certificates;
};
