import { X509Certificate } from 'node:crypto';
import type { Proof, ShownLeaf, StartTls, Unread } from '@handover/core';
import type { Certificate, Clock, Instant } from '@handover/material';
import type { AuthorityId, AuthorityRecord, ObjectId } from '../look/home.ts';
import type { Answered, Meters } from '../look/meters.ts';
import type { Turns } from '../scheduling/turns.ts';
import type { Canaries } from './canary.ts';
import { type ClientCertificate, type HandshakeResult, handshake } from './handshake.ts';
import { unreadOf } from './read-document.ts';

export interface ProbeTools {
  /** Deadlines and pauses go by it. */
  readonly clock: Clock;
  readonly meters?: Meters | undefined;
  /** Shared by all probes. */
  readonly canaries: Canaries;
  /** Limits probes per namespace. Default: turns of its own. */
  readonly turns?: Turns | undefined;
}

export interface ProbeTarget {
  /** The authority that the evidence is for; canaries are logged under it. */
  readonly authority: AuthorityId;
  /** `host:port`; the host is also the server name (SNI). */
  readonly address: string;
  readonly mtls: boolean;
  /** Protocol in which TLS starts; undefined: at once. */
  readonly starttls?: StartTls | undefined;
  /** Object of the Leaf that a certificate names, where that is another than the expected one. */
  readonly otherLeaf?: ((leaf: Certificate) => ObjectId | undefined) | undefined;
  /** Where to connect instead, without resolving a name. */
  readonly at?: { readonly ip: string; readonly port: number } | undefined;
}

export interface ProbeResult {
  readonly proofs: readonly Proof[];
  readonly stripsCross: boolean;
  /** What it was to show and did not. Of a server that answers, `trust` only with mTLS. */
  readonly unread: Unread;
}

/** The result in one word, for metrics. */
export const answerOf = ({ proofs, stripsCross, unread }: ProbeResult): Answered => {
  if (stripsCross) return 'strips_cross';
  if (proofs.length === 0) return 'silent';
  return unread.trust === undefined && unread.leaf === undefined ? 'shown' : 'vague';
};

/** For all handshakes of one probe: a slow server does not delay a look for longer. */
const PROBE_MS = 10_000;
const OUT_OF_TIME = `does not end the handshakes of a probe within ${PROBE_MS / 1000} s`;

type Knock = (
  client: ClientCertificate | undefined,
  newest?: 'TLSv1.2' | 'TLSv1.3',
) => Promise<HandshakeResult>;

const knockAt = ({ address, at, starttls }: ProbeTarget, clock: Clock, until: number): Knock => {
  const colon = address.lastIndexOf(':');
  const name = address.slice(0, colon).replace(/^\[|\]$/g, '');
  const port = Number(address.slice(colon + 1));
  return async (client, newest) =>
    clock.monotonic() < until
      ? handshake(
          clock,
          { host: at?.ip ?? name, port: at?.port ?? port, servername: name, starttls },
          client,
          newest,
        )
      : { kind: 'unreachable', why: OUT_OF_TIME };
};

/** Inspects a server with real handshakes. */
export async function probe(
  target: ProbeTarget,
  record: AuthorityRecord,
  tools: ProbeTools,
  now: Instant,
): Promise<ProbeResult> {
  const says = (why: string): string => `${target.address} ${why}`;
  const nothing = (why: string): ProbeResult => ({
    proofs: [],
    stripsCross: false,
    unread: unreadOf(says(why), says(why)),
  });
  const { clock } = tools;
  const until = clock.monotonic() + PROBE_MS;
  const knock = knockAt(target, clock, until);
  const control = await tools.canaries.control(now);
  // A server that requires a client certificate presents its own chain before it refuses.
  const first = await knock(target.mtls ? control : undefined);
  if (first.kind === 'unreachable') return nothing(first.why);
  const checks = target.mtls && first.accepted === false;
  const trust = checks ? await probeTrust(target.authority, knock, record, tools.canaries, now) : undefined;
  // On TLS 1.2 a refusal ends the handshake before the chain is available; an accepted canary has it.
  const chain = first.chain.length > 0 ? first.chain : (trust?.chain ?? []);
  // An accepted canary leaves no refusal in the server's log.
  const newest = trust?.accepted[0];
  const looks = await lookAgain(clock, knock, newest?.canary ?? (target.mtls ? control : undefined), record);
  // A probe that ran out of time proves nothing, nor does one that met a process which does not answer.
  if (clock.monotonic() >= until) return nothing(OUT_OF_TIME);
  if ('why' in looks) return nothing(looks.why);
  const shown = [chain, ...looks.chains].map((one) => servedBy(one, record));
  const seen = shown.flatMap((one) => one ?? []);
  const served = seen.length < shown.length ? undefined : oldestOf(seen, record);
  const trusts =
    trust === undefined ? undefined : trustShown(trust, looks.isRefused ? newest : undefined, now);
  const proofs: Proof[] = [
    ...(served === undefined
      ? []
      : [{ by: 'probed', at: now, issuer: served.issuer, leaves: leavesIn(seen, target) } as const]),
    ...(trusts === undefined ? [] : [trusts]),
  ];
  const noTrust = checks
    ? 'gave no verdict on a client certificate of this authority'
    : 'accepts a client certificate of an unknown CA, and so does not show which CAs it trusts';
  return {
    proofs,
    stripsCross: strips(chain, record, served?.issuer),
    unread: unreadOf(
      target.mtls && trusts === undefined ? says(noTrust) : undefined,
      served === undefined ? says(noCertificate([chain, ...looks.chains])) : undefined,
    ),
  };
}

const noCertificate = (chains: readonly (readonly Certificate[])[]): string =>
  chains.some((chain) => chain.length === 0)
    ? 'ends the handshake before it shows a certificate'
    : 'serves a certificate without an authority key id';

const MORE_LOOKS = 4;
const BETWEEN_LOOKS_MS = 150;

/**
 * The processes of one server load a new leaf, and a new CA, one after the other: nginx's old workers accept connections for a moment
 * after the new ones have started (seen: five handshakes in a row, after a probe had met a new one). So during a rotation one handshake
 * is not enough. `client`: the canary of the newest generation that was accepted; a process that refuses it has not loaded that CA.
 */
const lookAgain = async (
  clock: Clock,
  knock: Knock,
  client: ClientCertificate | undefined,
  { state }: AuthorityRecord,
): Promise<
  | { readonly chains: readonly (readonly Certificate[])[]; readonly isRefused: boolean }
  | { readonly why: string }
> => {
  const chains: (readonly Certificate[])[] = [];
  let isRefused = false;
  for (let look = 0; look < MORE_LOOKS && state.generations.length > 1; look++) {
    await clock.sleep(BETWEEN_LOOKS_MS);
    const result = await knock(client);
    if (result.kind === 'unreachable') return { why: result.why };
    isRefused ||= result.accepted === false;
    chains.push(result.chain);
  }
  return { chains, isRefused };
};

interface Served {
  readonly issuer: string;
  readonly leaf: Certificate;
}

const leavesIn = (served: readonly Served[], { otherLeaf }: ProbeTarget): readonly ShownLeaf[] => {
  const leaves = new Map(served.map(({ leaf }) => [leaf.fingerprint, leaf]));
  return [...leaves].map(([fingerprint, leaf]) => {
    const object = otherLeaf?.(leaf);
    return { fingerprint, ...(object === undefined ? {} : { object }) };
  });
};

/** Of all leaves seen, the one of the oldest generation counts; an unknown issuer is older than any. */
const oldestOf = (shown: readonly Served[], { state }: AuthorityRecord): Served | undefined => {
  const age = ({ issuer }: Served): number => {
    const index = state.generations.findIndex(({ anchors }) =>
      anchors.some(({ fingerprint }) => fingerprint === issuer),
    );
    return index < 0 ? Number.POSITIVE_INFINITY : index;
  };
  return [...shown].sort((a, b) => age(b) - age(a))[0];
};

/** A key id is a claim that any certificate can make. */
const isSignedBy = (leaf: Certificate, ca: Certificate | undefined): boolean =>
  ca?.subjectKeyId !== undefined &&
  ca.subjectKeyId === leaf.authorityKeyId &&
  new X509Certificate(leaf.der).verify(new X509Certificate(ca.der).publicKey);

const servedBy = (
  chain: readonly Certificate[],
  { state, certificates }: AuthorityRecord,
): Served | undefined => {
  const [leaf] = chain;
  if (leaf?.authorityKeyId === undefined) return undefined;
  const issuer = state.generations
    .flatMap(({ anchors }) => anchors.map(({ fingerprint }) => fingerprint))
    .find((fingerprint) => isSignedBy(leaf, certificates.get(fingerprint)));
  return { issuer: issuer ?? 'unknown', leaf };
};

/** Whether it serves a leaf of the current generation without the cross-certificate that is in the leaf's file. */
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

/**
 * BoringSSL, and so Envoy, keeps its TLS 1.3 tickets until it has data to send (ssl/tls13_server.cc): a client that says nothing does not
 * learn that it was accepted. Over TLS 1.2 a server that looks at certificates within the handshake ends it only for a client that it accepts;
 * the control, for which it must not end, shows that it does. Never a refusal: over TLS 1.3 that is seen, and here it may have other reasons.
 */
const acceptsOverOlder = async (
  knock: Knock,
  canary: ClientCertificate,
  control: ClientCertificate,
): Promise<true | undefined> => {
  const refused = await knock(control, 'TLSv1.2');
  if (refused.kind === 'unreachable' || refused.completed) return undefined;
  const result = await knock(canary, 'TLSv1.2');
  return result.kind === 'done' && result.completed ? true : undefined;
};

interface Accepted {
  readonly fingerprint: string;
  readonly canary: ClientCertificate;
}

interface TrustSeen {
  readonly chain: readonly Certificate[];
  /** Newest generation first. */
  readonly accepted: readonly Accepted[];
  readonly refuses: readonly string[];
}

/** `refused`: accepted at first, and refused by another process behind the same port. */
const trustShown = (
  { accepted, refuses }: TrustSeen,
  refused: Accepted | undefined,
  now: Instant,
): Proof | undefined => {
  const anchors = accepted.filter((one) => one !== refused).map(({ fingerprint }) => fingerprint);
  const all = refused === undefined ? refuses : [...refuses, refused.fingerprint];
  return anchors.length + all.length === 0 ? undefined : { by: 'probed', at: now, anchors, refuses: all };
};

/** One canary per generation that can sign; the same port has refused the control. */
const probeTrust = async (
  authority: AuthorityId,
  knock: Knock,
  record: AuthorityRecord,
  canaries: Canaries,
  now: Instant,
): Promise<TrustSeen> => {
  let chain: readonly Certificate[] = [];
  const accepted: Accepted[] = [];
  const refuses: string[] = [];
  const newestFirst = [...record.state.generations].sort((a, b) => b.number - a.number);
  for (const {
    number,
    anchors: [{ fingerprint }],
    role,
  } of newestFirst) {
    if (role === 'previous' || role === 'distrusted') continue;
    const canary = await canaries.of(authority, record, number, now);
    if (canary === undefined) continue;
    const result = await knock(canary);
    if (result.kind === 'unreachable') continue;
    const isAccepted =
      result.accepted ?? (await acceptsOverOlder(knock, canary, await canaries.control(now)));
    if (isAccepted === undefined) continue;
    if (result.chain.length > 0) chain = result.chain;
    if (isAccepted) accepted.push({ fingerprint, canary });
    else refuses.push(fingerprint);
  }
  return { chain, accepted, refuses };
};
