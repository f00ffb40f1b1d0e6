import {
  applyTransition,
  type Made,
  type RotationStep,
  type Shown,
  SKEW,
  type Swap,
  shownFor,
} from '@handover/core';
import { after, type Certificate, type Instant, instant } from '@handover/material';
import { type HistoryStep, withStep } from '../ledger/history.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Observation } from '../observe/observe.ts';
import type { AuthorityRecord, Home } from '../snapshot/home.ts';
import { anchorOf } from '../snapshot/responsibilities.ts';
import { SealKey } from '../snapshot/seal.ts';
import { caOf, issuerFor, signingCa } from './act.ts';
import { askerOfStep } from './logged-issuer.ts';

const MOST_EVIDENCE = 50;
const MOST_NAME = 256;

const countsOf = (shown: readonly Shown[]): NonNullable<HistoryStep['counts']> => {
  const counts: { -readonly [By in Shown['by']]?: number } = {};
  for (const { by } of shown) counts[by] = (counts[by] ?? 0) + 1;
  return counts;
};

const cut = (text: string): string => (text.length <= MOST_NAME ? text : `${text.slice(0, MOST_NAME)}…`);

/** A step as it is remembered. */
export const stepOf = (
  observation: Observation,
  swap: RotationStep,
  at: Instant,
  ledger: Ledger | undefined,
): HistoryStep => {
  const { seen, responsibilities, now, record } = observation;
  const shown = shownFor(seen, responsibilities.policy, now, swap);
  const askedBy = askerOfStep(ledger && ((asked) => ledger.known(asked)), observation, swap);
  const rotation = swap.kind === 'mint' ? swap.id : record?.state.ids.at(-1);
  const replacement = swap.kind === 'distrust' ? swap.replacement?.generation : undefined;
  const isOfRotation = swap.kind === 'mint' || swap.kind === 'activate' || swap.kind === 'retire';
  return {
    at,
    step: swap.kind,
    generations: 'generations' in swap ? swap.generations : [swap.generation],
    ...(replacement === undefined ? {} : { replacement }),
    ...(rotation === undefined || !isOfRotation ? {} : { rotation }),
    ...(askedBy === undefined ? {} : { askedBy }),
    why: cut(swap.why),
    ...(ledger === undefined ? {} : { takenBy: cut(ledger.self) }),
    ...(shown.length === 0
      ? {}
      : {
          evidence: shown.slice(0, MOST_EVIDENCE).map((each) => ({ ...each, consumer: cut(each.consumer) })),
          counts: countsOf(shown),
        }),
    revision: swap.revision,
  };
};

/** Which generation a swap creates, and which cross-certificate it needs. */
const neededBy = (
  swap: RotationStep,
): { mint: number | undefined; cross: { of: number; by: number } | undefined } => {
  switch (swap.kind) {
    case 'mint':
      return { mint: swap.adoptsKey === true ? undefined : swap.generation, cross: undefined };
    case 'activate':
      return {
        mint: undefined,
        cross: swap.crossBy === undefined ? undefined : { of: swap.generation, by: swap.crossBy },
      };
    case 'distrust': {
      const { replacement } = swap;
      if (replacement === undefined) return { mint: undefined, cross: undefined };
      const { generation, minted, crossBy } = replacement;
      return {
        mint: minted ? generation : undefined,
        cross: crossBy === undefined ? undefined : { of: generation, by: crossBy },
      };
    }
    case 'retire':
    case 'drop':
    case 'distrust-done':
      return { mint: undefined, cross: undefined };
    default:
      return swap satisfies never;
  }
};

/**
 * One compare-and-swap of the authority: keys and signatures are made here, and are durable before anything derived from
 * them is written. Keys of generations that are no longer listed are left out of the very same write, then destroyed.
 */
export async function swapAuthority(home: Home, observation: Observation, swap: RotationStep): Promise<void> {
  const { responsibilities, record } = observation;
  const { mint, cross } = neededBy(swap);
  const at = home.clock.now();
  // A distrust does not wait for a doubted clock: what it makes is valid by what the clock showed before as well.
  const notBefore = after(instant(Math.min(at, home.clock.doubt?.()?.before ?? at)), -SKEW);
  const issuer = issuerFor(home, observation, swap);
  const certificates = new Map<string, Certificate>(record?.certificates);
  const keys = new Map(record?.keys);
  let ca: Certificate | undefined;
  if (mint !== undefined) {
    const { metadata, spec } = responsibilities.authority;
    const key = await home.keyring.create({ algorithm: spec.key, share: metadata.namespace });
    ca = await issuer.ca({
      name: metadata.name,
      generation: mint,
      signer: await home.keyring.open(key),
      nameConstraints: spec.nameConstraints,
      notBefore,
      notAfter: after(at, responsibilities.policy.lifetime),
    });
    certificates.set(ca.fingerprint, ca);
    keys.set(mint, key);
  }
  if (swap.kind === 'mint' && swap.adopts !== undefined) {
    for (const certificate of observation.adoption?.certificates ?? [])
      certificates.set(certificate.fingerprint, certificate);
    if (swap.adoptsKey === true && observation.adoption?.key !== undefined)
      keys.set(swap.generation, await home.keyring.import(observation.adoption.key));
  }
  let crossed: Certificate | undefined;
  if (cross !== undefined) {
    const subject = mint === cross.of && ca !== undefined ? ca : caOf(observation, cross.of).certificate;
    const by = await signingCa(home, caOf(observation, cross.by));
    crossed = await issuer.cross({ subject, by, notBefore, notAfter: subject.notAfter });
    certificates.set(crossed.fingerprint, crossed);
  }
  const made: Made = {
    at,
    ...(ca === undefined ? {} : { ca: anchorOf(ca) }),
    ...(crossed === undefined
      ? {}
      : { cross: { fingerprint: crossed.fingerprint, notAfter: crossed.notAfter } }),
  };
  const state = applyTransition(record?.state, swap, made, swap.revision);
  const sealKey = record?.sealKey ?? SealKey.random(home.random);
  const history = withStep(record?.history, stepOf(observation, swap, at, home.ledger));
  const next = only({ state, certificates, keys, sealKey, history });
  await home.authorities.swap(responsibilities.id, swap.expect, next);
  for (const [number, key] of keys) if (!next.keys.has(number)) await home.keyring.destroy(key);
}

/** No step of a rotation: nothing is made and nothing derived from it, so that it is in no history. */
export async function recordIssuance(
  home: Home,
  { responsibilities, record }: Observation,
  swap: Swap & { readonly kind: 'record-issuance' },
): Promise<void> {
  if (record === undefined) throw new TypeError('nothing is issued before there is an authority');
  const state = applyTransition(record.state, swap, { at: home.clock.now() }, swap.revision);
  await home.authorities.swap(responsibilities.id, swap.expect, { ...record, state });
}

/** Drops what the state no longer lists: above all, keys. */
const only = ({ state, certificates, keys, sealKey, history }: AuthorityRecord): AuthorityRecord => {
  const listed = new Set([
    ...state.generations.flatMap(({ anchors }) => anchors.map(({ fingerprint }) => fingerprint)),
    ...state.crosses.map(({ fingerprint }) => fingerprint),
  ]);
  const numbers = new Set(
    state.generations
      .filter(({ role, hasKey }) => hasKey && role !== 'distrusted')
      .map(({ number }) => number),
  );
  return {
    state,
    certificates: new Map([...certificates].filter(([fingerprint]) => listed.has(fingerprint))),
    keys: new Map([...keys].filter(([number]) => numbers.has(number))),
    sealKey,
    history,
  };
};
