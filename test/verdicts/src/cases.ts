import type { JudgeName } from './judges.ts';
import type { Token } from './world.ts';

export interface Case {
  /** The leaf first, then the certificates that its presenter sends with it. */
  readonly chain: readonly Token[];
  readonly bundle: readonly Token[];
  readonly accepted: boolean;
  /** Judges with the opposite verdict, and the reason. */
  readonly except?: Partial<Record<JudgeName, string>>;
}

export interface Group {
  readonly title: string;
  readonly cases: readonly Case[];
}

type Members = readonly Token[];
const accepted = (chain: Members, ...bundles: readonly Members[]): Case[] =>
  bundles.map((bundle) => ({ chain, bundle, accepted: true }));
const refused = (chain: Members, ...bundles: readonly Members[]): Case[] =>
  bundles.map((bundle) => ({ chain, bundle, accepted: false }));

const NO_DATES =
  'It takes an anchor as a name and a key and ignores the dates of the anchor, as RFC 5280 §6.1.1 (d) allows. Nothing in Handover depends on it: a leaf and a cross-certificate end no later than the CA that signed them.';
const LOOKS_ON =
  'It does not stop at the expired anchor: it searches on and finds the other path, through the cross-certificate. OpenSSL, and so Node and Handover, takes the first anchor that fits and does not go back. Therefore Handover leaves an expired CA out of a bundle.';
const LAST_ONLY =
  'It sorts the chain and then looks for an anchor at the far end only: an anchor that issued the last certificate, or has its name and key. It finds an anchor in the middle only if that certificate itself is in the chain, and X32 is not CA 3. So one cross-certificate is always safe, and a second one only while the bundle holds a CA at the far end. A handshake with `gnutls-cli` gives the same result. Occasionally, with other keys and names, it accepts. Therefore Handover sends one.';

const but = (
  [chain, bundle]: readonly [Members, Members],
  verdict: 'accepted' | 'refused',
  except: NonNullable<Case['except']>,
): Case => ({ chain, bundle, accepted: verdict === 'accepted', except });

/** The steps of a rotation, and faults around them. */
export const GROUPS: readonly Group[] = [
  {
    title: 'Before the switch: leaves of the old CA',
    cases: [...accepted(['leaf 1'], ['1'], ['2', '1']), ...refused(['leaf 1'], ['2'])],
  },
  {
    title: 'After the switch: leaves of the new CA carry a cross-certificate',
    cases: [
      ...accepted(['leaf 2', 'X21'], ['1'], ['2'], ['2', '1'], ['1', '2']),
      ...refused(['leaf 2', 'X21'], ['3'], ['stranger']),
    ],
  },
  {
    title: 'No cross-certificate',
    cases: [...refused(['leaf 2'], ['1']), ...accepted(['leaf 2'], ['2'], ['2', '1'])],
  },
  {
    title: 'The cross-certificate has expired',
    cases: [
      ...refused(['leaf 2', 'X21†'], ['1']),
      ...accepted(['leaf 2', 'X21†'], ['2'], ['2', '1'], ['1', '2']),
    ],
  },
  {
    title: 'Two rotations in a row',
    cases: [
      ...accepted(['leaf 3', 'X32', 'X21'], ['1'], ['2']),
      but([['leaf 3', 'X32', 'X21'], ['3']], 'accepted', { gnutls: LAST_ONLY }),
      ...accepted(['leaf 3', 'X32', 'X21'], ['2', '1'], ['3', '2'], ['3', '2', '1']),
      ...accepted(['leaf 3', 'X21', 'X32'], ['1']),
      ...accepted(['leaf 3', 'X32'], ['2'], ['3'], ['3', '2']),
      ...refused(['leaf 3', 'X32'], ['1']),
      ...refused(['leaf 3', 'X21'], ['1'], ['2']),
      ...accepted(['leaf 3', 'X21'], ['3', '2']),
      ...accepted(['leaf 3', 'X32', 'X21†'], ['2'], ['2', '1'], ['3', '2']),
      ...refused(['leaf 3', 'X32', 'X21†'], ['1']),
      but([['leaf 3', 'X32†', 'X21'], ['3']], 'accepted', { gnutls: LAST_ONLY }),
      but(
        [
          ['leaf 3', 'X32†', 'X21'],
          ['3', '2'],
        ],
        'accepted',
        { gnutls: LAST_ONLY },
      ),
      ...accepted(['leaf 3', 'X32†'], ['3'], ['3', '2']),
      ...refused(['leaf 3', 'X32†', 'X21'], ['1'], ['2'], ['2', '1']),
    ],
  },
  {
    title: 'A CA whose key is destroyed stays trusted for leaves that it signed',
    cases: [
      ...accepted(['leaf 1'], ['3', '1'], ['3', '2', '1']),
      ...accepted(['leaf 2', 'X21'], ['3', '1'], ['3', '2'], ['3', '2', '1']),
      ...accepted(['leaf 3', 'X32'], ['3', '1'], ['3', '2', '1'], ['2', '1']),
    ],
  },
  {
    title: 'The old CA has expired, and everything it signed',
    cases: [
      ...accepted(['leaf 2', 'X2(1†)'], ['2', '1†'], ['1†', '2'], ['2']),
      ...refused(['leaf 2', 'X2(1†)'], ['1†']),
      ...accepted(['leaf 2'], ['2', '1†']),
      ...refused(['leaf 2'], ['1†']),
      ...refused(['leaf 1†'], ['1†'], ['2', '1†']),
    ],
  },
  {
    title: 'An anchor that has ended before the certificates it signed',
    cases: [
      but([['leaf 1'], ['1‡']], 'refused', { java: NO_DATES, webpki: NO_DATES }),
      but([['leaf 2', 'X21'], ['1‡']], 'refused', { java: NO_DATES, webpki: NO_DATES }),
      but([['leaf 2', 'X21'], ['2‡']], 'refused', { java: NO_DATES, webpki: NO_DATES }),
      ...accepted(['leaf 2', 'X21'], ['2', '1‡']),
      but(
        [
          ['leaf 2', 'X21'],
          ['2‡', '1'],
        ],
        'refused',
        {
          go: LOOKS_ON,
          gnutls: LOOKS_ON,
          java: NO_DATES,
          webpki: NO_DATES,
        },
      ),
    ],
  },
  {
    title: 'Faulty leaves',
    cases: [
      ...refused(['leaf 2†', 'X21'], ['2'], ['2', '1']),
      ...refused(['early leaf 2', 'X21'], ['2'], ['2', '1']),
      ...refused(['leaf of a stranger', 'X21'], ['1'], ['2'], ['2', '1']),
    ],
  },
];
