import { type NotServed, type Proof, type Served, type ServedLeaf, sameServed } from '@handover/core';
import type { Certificate, Instant } from '@handover/material';
import { UNKNOWN_ISSUER } from './read-document.ts';

/** A stranger may write a whole book into its certificate. */
const MOST_NAMES = 5;
const MOST_LENGTH = 100;
const cut = (text: string): string =>
  text.length <= MOST_LENGTH ? text : `${text.slice(0, MOST_LENGTH - 1)}\u2026`;

/** A leaf as people know it. */
export const servedLeaf = (
  leaf: Certificate,
  issuer: string | undefined,
  object: string | undefined,
): ServedLeaf => {
  const names = new Set([
    ...leaf.subjectName.commonNames.map((name) => `CN=${name}`),
    ...leaf.dnsNames,
    ...leaf.ipAddresses,
    ...leaf.uris,
  ]);
  return {
    fingerprint: leaf.fingerprint,
    notAfter: leaf.notAfter,
    issuer,
    names: [...names].slice(0, MOST_NAMES).map(cut),
    ...(issuer === undefined ? { signedBy: cut(leaf.issuer) } : {}),
    ...(object === undefined ? {} : { object }),
  };
};

export const notServed = (at: Instant, why: string, reason: NotServed): Served => ({
  at,
  since: at,
  leaves: [],
  none: { reason, why },
});

/** What a document or a metrics page says of the leaf that its process serves; undefined: nothing. */
export const servedOf = (proofs: readonly Proof[]): Served | undefined => {
  const [first] = proofs;
  const leaves = proofs.flatMap(({ leaves: shown = [], issuer }) =>
    shown.map((leaf) => ({ ...leaf, issuer: issuer === UNKNOWN_ISSUER ? undefined : issuer, names: [] })),
  );
  return first === undefined || leaves.length === 0 ? undefined : { at: first.at, since: first.at, leaves };
};

const MOST_KEPT = 20_000;

/** Remembers since when each process has served what it serves. */
export class FirstServed {
  readonly #known = new Map<string, { readonly what: string; readonly since: Instant }>();

  /** `before`: what another process recorded of it. */
  since(process: string, served: Served, before?: Served): Served {
    const what = sameServed(served);
    const recorded = before !== undefined && sameServed(before) === what ? before : served;
    const known = this.#known.get(process);
    const since = known?.what === what ? known.since : recorded.since;
    if (this.#known.size >= MOST_KEPT) this.#known.clear();
    this.#known.set(process, { what, since });
    return { ...served, since };
  }
}
