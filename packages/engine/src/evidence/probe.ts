import { X509Certificate } from 'node:crypto';
import type { NotServed, Proof, Served, ServedLeaf, ShownLeaf, StartTls, Unread } from '@handover/core';
import type { Certificate, Clock, Instant } from '@handover/material';
import type { FairSemaphore } from '../scheduling/fair-semaphore.ts';
import type { AuthorityId, AuthorityRecord, ObjectId } from '../snapshot/home.ts';
import type { Answered, Meters } from '../snapshot/meters.ts';
import type { Canaries } from './canary.ts';
import { chainSeen } from './chain-seen.ts';
import { type ClientCertificate, type HandshakeResult, handshake, type Verdict } from './handshake.ts';
import { UNKNOWN_ISSUER, unreadOf } from './read-document.ts';
import { notServed, servedLeaf } from './served.ts';

/** A handshake with the server that is probed. */
type Knock = (
  client: ClientCertificate | undefined,
  newest?: 'TLSv1.2' | 'TLSv1.3',
) => Promise<HandshakeResult>;

/** A server that says nothing to a client of an unknown CA may accept it: BoringSSL keeps its tickets back. */
const acceptsAny = (controls: readonly Verdict[]): boolean =>
  controls.some((verdict) => verdict === 'accepted' || verdict === 'silent');

/**
 * Why an accepted canary shows no trust; undefined: the port refuses a client of an unknown CA. A TLS alert that comes after an
 * accepted canary shows that. Node's servers send none: they close the connection, as a worker that ends does, so that only closes
 * at every try count, with accepted canaries in between. A reset shows nothing.
 */
const noControl = (first: Verdict, later: readonly Verdict[]): string | undefined => {
  const all = [first, ...later];
  if (acceptsAny(all))
    return 'accepts a client certificate of an unknown CA, and so does not show which CAs it trusts';
  const isRefused =
    (later.length > 0 ? later : all).includes('refused') || all.every((verdict) => verdict === 'closed');
  return isRefused
    ? undefined
    : 'ends connections with a client certificate of an unknown CA without a TLS alert, and so does not show which CAs it trusts';
};

const noVerdict = (trust: TrustSeen | undefined): string | undefined =>
  trust === undefined ? 'gave no verdict on a client certificate of this authority' : undefined;

/** A canary that is refused is evidence without a control. */
const withoutAnchors = ({ anchors: _, ...refusals }: Proof): Proof => refusals;

/**
 * BoringSSL, and so Envoy, keeps its TLS 1.3 tickets until it has data to send (ssl/tls13_server.cc): a client that says nothing does not
 * learn that it was accepted. Over TLS 1.2 a server that looks at certificates within the handshake ends it only for a client that it accepts;
 * the control, which it must refuse with an alert, shows that it does. Never a refusal: over TLS 1.3 that is seen, and here it may have other reasons.
 */
const acceptsOverOlder = async (
  knock: Knock,
  canary: ClientCertificate,
  control: ClientCertificate,
): Promise<true | undefined> => {
  const refused = await knock(control, 'TLSv1.2');
  if (refused.kind === 'unreachable' || refused.verdict !== 'refused') return undefined;
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
  /** CAs of which a canary got no verdict. */
  readonly unanswered: readonly string[];
}

/** `refused`: accepted at first, and refused by another process behind the same port. */
const trustShown = (
  { accepted, refuses, unanswered }: TrustSeen,
  refused: Accepted | undefined,
  now: Instant,
): Proof => {
  const anchors = accepted.filter((one) => one !== refused).map(({ fingerprint }) => fingerprint);
  // Beside other verdicts no verdict counts as a refusal: otherwise time alone would speak for that CA.
  const all = [...refuses, ...unanswered, ...(refused === undefined ? [] : [refused.fingerprint])];
  return { by: 'probed', at: now, anchors, refuses: all };
};

/** One canary per generation that can sign. */
const probeTrust = async (
  authority: AuthorityId,
  knock: Knock,
  record: AuthorityRecord,
  control: ClientCertificate,
  canaries: Canaries,
  now: Instant,
): Promise<TrustSeen | undefined> => {
  let chain: readonly Certificate[] = [];
  const accepted: Accepted[] = [];
  const refuses: string[] = [];
  const unanswered: string[] = [];
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
    const isAccepted = await accepts(result, () => acceptsOverOlder(knock, canary, control));
    if (isAccepted === undefined) unanswered.push(fingerprint);
    else if (isAccepted) accepted.push({ fingerprint, canary });
    else refuses.push(fingerprint);
    if (result.kind === 'done' && isAccepted !== undefined && result.chain.length > 0) chain = result.chain;
  }
  if (accepted.length + refuses.length === 0) return undefined;
  return { chain, accepted, refuses, unanswered };
};

/** A close counts as a refusal of a canary, with or without an alert: a mistake here only costs time. */
const accepts = async (
  result: HandshakeResult,
  overOlder: () => Promise<true | undefined>,
): Promise<boolean | undefined> => {
  if (result.kind === 'unreachable' || result.verdict === 'reset') return undefined;
  return result.verdict === 'silent' ? overOlder() : result.verdict === 'accepted';
};

export interface ProbeTools {
  /** Deadlines and pauses go by it. */
  readonly clock: Clock;
  readonly meters?: Meters | undefined;
  /** Shared by all probes. */
  readonly canaries: Canaries;
  /** Limits probes per namespace. Default: turns of its own. */
  readonly semaphore?: FairSemaphore | undefined;
}

export interface ProbeTarget {
  /** The authority that the evidence is for; canaries are logged under it. */
  readonly authority: AuthorityId;
  readonly address: string;
  /** Server name (SNI); undefined: the host of `address`. */
  readonly serverName?: string | undefined;
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
  /** What it was to show and did not. Of a server that answers, `trust` only with mTLS. */
  readonly unread: Unread;
  readonly saw?: Saw;
  readonly served: Served;
}

/** All that the handshakes of one probe met: processes behind one port may differ. */
interface Saw {
  /** CAs of which a canary was accepted. */
  readonly accepted: readonly string[];
  /** CAs of which a canary was refused. A reset is not among them. */
  readonly refused: readonly string[];
  /** CAs of the leaves. */
  readonly issuers: readonly string[];
}

/** The result in one word, for metrics. */
export const answerOf = ({ proofs, unread }: ProbeResult): Answered => {
  if (proofs.some(({ chain }) => chain === 'strips')) return 'strips_cross';
  if (proofs.length === 0) return 'silent';
  return unread.trust === undefined && unread.leaf === undefined ? 'shown' : 'vague';
};

/** For all handshakes of one probe: a slow server does not delay a look for longer. */
const PROBE_MS = 10_000;
const OUT_OF_TIME = `does not end the handshakes of a probe within ${PROBE_MS / 1000} s`;

const knockAt = ({ address, at, starttls, serverName }: ProbeTarget, clock: Clock, until: number): Knock => {
  const colon = address.lastIndexOf(':');
  const name = address.slice(0, colon).replace(/^\[|\]$/g, '');
  const port = Number(address.slice(colon + 1));
  return async (client, newest) =>
    clock.monotonic() < until
      ? handshake(
          clock,
          { host: at?.ip ?? name, port: at?.port ?? port, servername: serverName ?? name, starttls },
          client,
          newest,
        )
      : { kind: 'unreachable', why: OUT_OF_TIME, reason: 'timeout' };
};

/** Inspects a server with real handshakes. */
export async function probe(
  target: ProbeTarget,
  record: AuthorityRecord,
  tools: ProbeTools,
  now: Instant,
): Promise<ProbeResult> {
  const says = (why: string): string => `${target.address} ${why}`;
  const nothing = (why: string, reason: NotServed): ProbeResult => ({
    proofs: [],
    unread: unreadOf(says(why), says(why)),
    served: notServed(now, says(why), reason),
  });
  const { clock } = tools;
  const until = clock.monotonic() + PROBE_MS;
  const knock = knockAt(target, clock, until);
  const control = await tools.canaries.control(now);
  // A server that requires a client certificate presents its own chain before it refuses.
  const first = await knock(target.mtls ? control : undefined);
  if (first.kind === 'unreachable') return nothing(first.why, first.reason);
  const trust =
    target.mtls && !acceptsAny([first.verdict])
      ? await probeTrust(target.authority, knock, record, control, tools.canaries, now)
      : undefined;
  // On TLS 1.2 a refusal ends the handshake before the chain is available; an accepted canary has it.
  const chain = first.chain.length > 0 ? first.chain : (trust?.chain ?? []);
  const newest = trust?.accepted[0];
  const looks = await lookAgain(clock, knock, target.mtls ? control : undefined, newest?.canary, record);
  // A probe that ran out of time proves nothing, nor does one that met a process which does not answer.
  if (clock.monotonic() >= until) return nothing(OUT_OF_TIME, 'timeout');
  if ('why' in looks) return nothing(looks.why, looks.reason);
  const chains = [chain, ...looks.chains];
  const shown = chains.map((one) => servedBy(one, record));
  const seen = shown.flatMap((one) => one ?? []);
  const served = seen.length < shown.length ? undefined : oldestOf(seen, record);
  const noTrust = target.mtls ? (noControl(first.verdict, looks.controls) ?? noVerdict(trust)) : undefined;
  const trusts = trust && trustShown(trust, looks.isRefused ? newest : undefined, now);
  const proofs: Proof[] = [
    ...(served === undefined
      ? []
      : [
          {
            by: 'probed',
            at: now,
            issuer: served.issuer,
            leaves: leavesIn(seen, target),
            ...chainSeen(seen, record, now),
          } as const,
        ]),
    ...(trusts === undefined ? [] : [noTrust === undefined ? trusts : withoutAnchors(trusts)]),
  ];
  return {
    proofs,
    served:
      servedIn(chains, record, target, now) ?? notServed(now, says(noCertificate(chains)), 'no-certificate'),
    saw: {
      accepted: noTrust === undefined ? (trust?.accepted ?? []).map(({ fingerprint }) => fingerprint) : [],
      refused: [...(trust?.refuses ?? []), ...(looks.isDenied && newest ? [newest.fingerprint] : [])],
      issuers: seen.map(({ issuer }) => issuer),
    },
    unread: unreadOf(
      noTrust === undefined ? undefined : says(noTrust),
      served === undefined
        ? says(noCertificate(chains))
        : served.issuer === UNKNOWN_ISSUER
          ? says('serves a certificate of a CA that this authority does not have')
          : undefined,
    ),
  };
}

const noCertificate = (chains: readonly (readonly Certificate[])[]): string =>
  chains.some((chain) => chain.length === 0)
    ? 'ends the handshake before it shows a certificate'
    : 'serves a certificate without an authority key id';

const MORE_LOOKS = 4;
const BETWEEN_LOOKS_MS = 150;

interface MoreLooks {
  readonly chains: readonly (readonly Certificate[])[];
  /** Whether a process did not accept the canary. */
  readonly isRefused: boolean;
  /** Whether a process refused it, and not only broke off the connection with a reset. */
  readonly isDenied: boolean;
  /** What became of the control after an accepted canary. */
  readonly controls: readonly Verdict[];
}

/**
 * The processes of one server load a new leaf, and a new CA, one after the other: nginx's old workers accept connections for a moment
 * after the new ones have started (seen: five handshakes in a row, after a probe had met a new one). So during a rotation one handshake
 * is not enough. `canary`: that of the newest generation that was accepted; a process that does not accept it has not loaded that CA.
 */
const lookAgain = async (
  clock: Clock,
  knock: Knock,
  control: ClientCertificate | undefined,
  canary: ClientCertificate | undefined,
  { state }: AuthorityRecord,
): Promise<MoreLooks | Extract<HandshakeResult, { readonly kind: 'unreachable' }>> => {
  const chains: (readonly Certificate[])[] = [];
  const controls: Verdict[] = [];
  let isRefused = false;
  let isDenied = false;
  const isResting = state.generations.length <= 1;
  for (let look = 0; look < MORE_LOOKS; look++) {
    await clock.sleep(BETWEEN_LOOKS_MS);
    if (isResting) {
      // Which leaves it shows, and no more: one worker of several may have an old one, or that of a stranger.
      const shown = await knock(undefined);
      if (shown.kind === 'unreachable') return shown;
      if (shown.chain.length > 0) chains.push(shown.chain);
      continue;
    }
    const result = await knock(canary ?? control);
    if (result.kind === 'unreachable') return result;
    chains.push(result.chain);
    const isOpen = acceptsAny([result.verdict]);
    isRefused ||= !isOpen;
    isDenied ||= !isOpen && result.verdict !== 'reset';
    if (canary === undefined || !isOpen) continue;
    const again = await knock(control);
    if (again.kind === 'unreachable') return again;
    controls.push(again.verdict);
    if (again.chain.length > 0) chains.push(again.chain);
  }
  return { chains, isRefused, isDenied, controls };
};

interface ServedChain {
  readonly issuer: string;
  /** Fingerprints of the certificates behind the leaf. */
  readonly behind: readonly string[];
  readonly leaf: Certificate;
}

export const leavesIn = (
  served: readonly ServedChain[],
  { otherLeaf }: Pick<ProbeTarget, 'otherLeaf'>,
): readonly ShownLeaf[] => {
  const leaves = new Map(served.map(({ leaf }) => [leaf.fingerprint, leaf]));
  return [...leaves].map(([fingerprint, leaf]) => {
    const object = otherLeaf?.(leaf);
    return { fingerprint, notAfter: leaf.notAfter, ...(object === undefined ? {} : { object }) };
  });
};

/** Of all leaves seen, the one of the oldest generation counts; an unknown issuer is older than any. */
const oldestOf = (shown: readonly ServedChain[], { state }: AuthorityRecord): ServedChain | undefined => {
  const age = ({ issuer }: ServedChain): number => {
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

/** The leaves of these chains as people know them, also those that are no evidence; undefined: there is none. */
export const servedIn = (
  chains: readonly (readonly Certificate[])[],
  record: AuthorityRecord,
  { otherLeaf, serverName }: Pick<ProbeTarget, 'otherLeaf' | 'serverName'>,
  now: Instant,
): Served | undefined => {
  const leaves = new Map<string, ServedLeaf>();
  for (const [leaf] of chains) {
    if (leaf === undefined || leaves.has(leaf.fingerprint)) continue;
    const issuer = signerOf(leaf, record);
    const object = issuer === undefined ? undefined : otherLeaf?.(leaf);
    const isFor =
      serverName === undefined || new X509Certificate(leaf.der).checkHost(serverName) !== undefined;
    leaves.set(leaf.fingerprint, {
      ...servedLeaf(leaf, issuer, object),
      ...(isFor ? {} : { notFor: serverName }),
    });
  }
  return leaves.size === 0 ? undefined : { at: now, since: now, leaves: [...leaves.values()] };
};

/** Which CA of the authority signed it. */
const signerOf = (leaf: Certificate, { state, certificates }: AuthorityRecord): string | undefined =>
  state.generations
    .flatMap(({ anchors }) => anchors.map(({ fingerprint }) => fingerprint))
    .find((fingerprint) => isSignedBy(leaf, certificates.get(fingerprint)));

export const servedBy = (chain: readonly Certificate[], record: AuthorityRecord): ServedChain | undefined => {
  const [leaf, ...behind] = chain;
  if (leaf?.authorityKeyId === undefined) return undefined;
  const issuer = signerOf(leaf, record);
  return { issuer: issuer ?? UNKNOWN_ISSUER, leaf, behind: behind.map(({ fingerprint }) => fingerprint) };
};
