import type { Proof } from '@handover/core';
import type { Certificate, Instant } from '@handover/material';
import type { AuthorityId, AuthorityRecord } from '../snapshot/home.ts';
import type { Canaries } from './canary.ts';
import type { ClientCertificate, HandshakeResult, Verdict } from './handshake.ts';

/** A handshake with the server that is probed. */
export type Knock = (
  client: ClientCertificate | undefined,
  newest?: 'TLSv1.2' | 'TLSv1.3',
) => Promise<HandshakeResult>;

/** A server that says nothing to a client of an unknown CA may accept it: BoringSSL keeps its tickets back. */
export const acceptsAny = (controls: readonly Verdict[]): boolean =>
  controls.some((verdict) => verdict === 'accepted' || verdict === 'silent');

/**
 * Why an accepted canary shows no trust; undefined: the port refuses a client of an unknown CA. A TLS alert that comes after an
 * accepted canary shows that. Node's servers send none: they close the connection, as a worker that ends does, so that only closes
 * at every try count, with accepted canaries in between. A reset shows nothing.
 */
export const noControl = (first: Verdict, later: readonly Verdict[]): string | undefined => {
  const all = [first, ...later];
  if (acceptsAny(all))
    return 'accepts a client certificate of an unknown CA, and so does not show which CAs it trusts';
  const isRefused =
    (later.length > 0 ? later : all).includes('refused') || all.every((verdict) => verdict === 'closed');
  return isRefused
    ? undefined
    : 'ends connections with a client certificate of an unknown CA without a TLS alert, and so does not show which CAs it trusts';
};

export const noVerdict = (trust: TrustSeen | undefined): string | undefined =>
  trust === undefined ? 'gave no verdict on a client certificate of this authority' : undefined;

/** A canary that is refused is evidence without a control. */
export const withoutAnchors = ({ anchors: _, ...refusals }: Proof): Proof => refusals;

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
export const trustShown = (
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
export const probeTrust = async (
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
