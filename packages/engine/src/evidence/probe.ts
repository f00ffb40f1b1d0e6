import { setTimeout as pause } from 'node:timers/promises';
import type { Proof } from '@handover/core';
import type { Certificate, Instant } from '@handover/material';
import type { AuthorityId, AuthorityRecord } from '../look/home.ts';
import type { Answered, Meters } from '../look/meters.ts';
import type { Turns } from '../scheduling/turns.ts';
import type { Canaries } from './canary.ts';
import { type ClientCertificate, type HandshakeResult, handshake } from './handshake.ts';

export interface ProbeTools {
  readonly meters?: Meters | undefined;
  /** Kept from probe to probe, so that not each of them makes its own. */
  readonly canaries: Canaries;
  /** Who may ask when, by namespace. Default: turns of its own. */
  readonly turns?: Turns | undefined;
}

export interface ProbeTarget {
  /** Whose evidence it is; canaries are written down under it. */
  readonly authority: AuthorityId;
  /** `host:port`; the host is also the name that is asked for (SNI). */
  readonly address: string;
  readonly mtls: boolean;
  /** Where to connect instead, without a look at any name. */
  readonly at?: { readonly ip: string; readonly port: number } | undefined;
}

export interface ProbeResult {
  readonly proofs: readonly Proof[];
  readonly stripsCross: boolean;
}

/** In one word, for whoever counts. */
export const answerOf = (result: ProbeResult | undefined): Answered => {
  if (result === undefined) return 'silent';
  if (result.stripsCross) return 'strips_cross';
  return result.proofs.length === 0 ? 'vague' : 'shown';
};

/** All handshakes of one probe: a server that is slow at each of them does not hold a look up for longer. */
const PROBE_MS = 10_000;

type Knock = (client: ClientCertificate | undefined) => Promise<HandshakeResult>;

const knockAt = ({ address, at }: ProbeTarget, until: number): Knock => {
  const colon = address.lastIndexOf(':');
  const name = address.slice(0, colon).replace(/^\[|\]$/g, '');
  const port = Number(address.slice(colon + 1));
  return async (client) =>
    performance.now() < until
      ? handshake(at?.ip ?? name, at?.port ?? port, client, name)
      : { kind: 'unreachable' };
};

/** Looks at a server with real handshakes. Undefined: nobody answers there. */
export async function probe(
  target: ProbeTarget,
  record: AuthorityRecord,
  tools: ProbeTools,
  now: Instant,
): Promise<ProbeResult | undefined> {
  const until = performance.now() + PROBE_MS;
  const knock = knockAt(target, until);
  const control = await tools.canaries.control(now);
  // A server that insists on a client certificate shows its own all the same, before it refuses.
  const first = await knock(target.mtls ? control : undefined);
  if (first.kind === 'unreachable') return undefined;
  const checks = target.mtls && first.accepted === false;
  const trust = checks ? await probeTrust(target.authority, knock, record, tools.canaries, now) : undefined;
  // Over TLS 1.2 a refusal ends the handshake before the chain can be looked at; whoever was accepted has seen it.
  const chain = first.chain.length > 0 ? first.chain : (trust?.chain ?? []);
  const again = await lookAgain(knock, target.mtls ? control : undefined, record);
  // Cut short, it has not shown all of itself.
  if (performance.now() >= until) return undefined;
  const served = oldestOf(
    [chain, ...again].flatMap((shown) => servedBy(shown, record) ?? []),
    record,
  );
  const proofs: Proof[] = [
    ...(served === undefined ? [] : [{ by: 'probed', at: now, ...served } as const]),
    ...(trust?.proof === undefined ? [] : [trust.proof]),
  ];
  return { proofs, stripsCross: strips(chain, record, served?.issuer) };
}

const MORE_LOOKS = 4;
const BETWEEN_LOOKS_MS = 150;

/**
 * A server of several processes goes over to its new leaf one by one: nginx's old workers take connections for a moment after
 * the new ones have begun (seen: five handshakes in a row, after a probe had met a new one). So while a rotation is under way
 * one handshake is not enough.
 */
const lookAgain = async (
  knock: Knock,
  client: ClientCertificate | undefined,
  { state }: AuthorityRecord,
): Promise<readonly (readonly Certificate[])[]> => {
  const chains: (readonly Certificate[])[] = [];
  for (let look = 0; look < MORE_LOOKS && state.generations.length > 1; look++) {
    await pause(BETWEEN_LOOKS_MS);
    const result = await knock(client);
    if (result.kind !== 'unreachable' && result.chain.length > 0) chains.push(result.chain);
  }
  return chains;
};

/** Of all that it showed, the oldest counts; one that nobody knows is older than any. */
const oldestOf = (
  shown: readonly { readonly issuer: string; readonly leaf: string }[],
  { state }: AuthorityRecord,
): { readonly issuer: string; readonly leaf: string } | undefined => {
  const age = ({ issuer }: { readonly issuer: string }): number => {
    const index = state.generations.findIndex(({ anchors }) =>
      anchors.some(({ fingerprint }) => fingerprint === issuer),
    );
    return index < 0 ? Number.POSITIVE_INFINITY : index;
  };
  return [...shown].sort((a, b) => age(b) - age(a))[0];
};

const servedBy = (
  chain: readonly Certificate[],
  { state, certificates }: AuthorityRecord,
): { issuer: string; leaf: string } | undefined => {
  const [leaf] = chain;
  if (leaf?.authorityKeyId === undefined) return undefined;
  const issuer = state.generations
    .flatMap(({ anchors }) => anchors.map(({ fingerprint }) => fingerprint))
    .find((fingerprint) => certificates.get(fingerprint)?.subjectKeyId === leaf.authorityKeyId);
  return { issuer: issuer ?? 'unknown', leaf: leaf.fingerprint };
};

/** It serves a leaf of the current generation, and not the X that every such leaf's file has behind it. */
const strips = (
  chain: readonly Certificate[],
  { state }: AuthorityRecord,
  issuer: string | undefined,
): boolean => {
  const current = state.generations.find(({ role }) => role === 'current');
  if (current === undefined || current.anchors[0].fingerprint !== issuer) return false;
  const cross = state.crosses.find(({ of }) => of === current.number);
  return cross !== undefined && !chain.some(({ fingerprint }) => fingerprint === cross.fingerprint);
};

/** One canary per generation that can sign; the control has been refused by the same port. */
const probeTrust = async (
  authority: AuthorityId,
  knock: Knock,
  record: AuthorityRecord,
  canaries: Canaries,
  now: Instant,
): Promise<{ readonly proof: Proof | undefined; readonly chain: readonly Certificate[] }> => {
  let chain: readonly Certificate[] = [];
  const anchors: string[] = [];
  const refuses: string[] = [];
  for (const {
    number,
    anchors: [anchor],
    role,
  } of record.state.generations) {
    if (role === 'previous' || role === 'distrusted') continue;
    const canary = await canaries.of(authority, record, number, now);
    if (canary === undefined) continue;
    const result = await knock(canary);
    if (result.kind === 'unreachable' || result.accepted === undefined) continue;
    if (result.chain.length > 0) chain = result.chain;
    (result.accepted ? anchors : refuses).push(anchor.fingerprint);
  }
  const told = anchors.length + refuses.length > 0;
  return { chain, proof: told ? { by: 'probed', at: now, anchors, refuses } : undefined };
};
