import { bundleOf, type Certificate, type Instant, isExpired } from '@handover/material';

/** Expired anchors leave a bundle late, because clocks differ: DESIGN, certificate profile. */
const LATE_MS = 3_600_000;

/**
 * What goes into a caBundle whose source is in other hands: the source's CAs, and those that were put there from it earlier and
 * have not expired. When its last old leaf is gone cannot be known, so an old CA stays as long as it could be of use. The same
 * certificates always come in the same order. Empty only if both are.
 */
export const merged = (
  source: readonly Certificate[],
  putThere: readonly Certificate[],
  now: Instant,
): readonly Certificate[] => {
  const late = (now - LATE_MS) as Instant;
  const current = [...putThere, ...source].filter((certificate) => !isExpired(certificate, late));
  // With nothing but expired CAs every peer is refused; an empty bundle means the system's roots.
  const kept = current.length > 0 ? current : source;
  return kept.length === 0 ? [] : bundleOf(kept).certificates;
};
