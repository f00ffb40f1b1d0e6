import { groupsFor, isEphemeralEc, suitesFor, VERSION_NAMES, type Version } from './names.ts';
import { type OfferOptions, type OfferOutcome, offer, type TlsTarget } from './offer.ts';

export interface VersionSeen {
  readonly version: Version;
  readonly outcome: OfferOutcome['kind'];
  /** The alert, or what else happened, when the version was not accepted. */
  readonly why?: string;
  /** All suites that it accepts over this version, in its order. */
  readonly suites: readonly number[];
  /** Key exchange groups; TLS 1.2 and 1.3 only. */
  readonly groups: readonly number[];
  readonly asksForCertificate: boolean;
  /** Why the lists may be incomplete. */
  readonly unfinished?: string;
}

interface Enumerated {
  readonly found: readonly number[];
  readonly last: OfferOutcome;
  readonly asksForCertificate: boolean;
}

/** Removes what the server chose and asks again, until it refuses: one handshake more than it has suites. */
async function suitesOf(target: TlsTarget, version: Version, options: OfferOptions): Promise<Enumerated> {
  const found: number[] = [];
  const groups = groupsFor(version);
  let asksForCertificate = false;
  for (;;) {
    const suites = suitesFor(version).filter((code) => !found.includes(code));
    if (suites.length === 0)
      return { found, last: { kind: 'refused', why: 'nothing left' }, asksForCertificate };
    const last = await offer(target, { version, suites, groups }, options);
    if (last.kind !== 'accepted') return { found, last, asksForCertificate };
    found.push(last.suite);
    asksForCertificate ||= last.asksForCertificate;
  }
}

/**
 * The same for groups; but a group that was seen first moves to the end of the list, and is removed only when the server picks it again:
 * before TLS 1.3 an ECDSA certificate needs its own curve in the list (RFC 8422 §5.1), whichever group is then used.
 */
async function groupsOf(
  target: TlsTarget,
  version: Version,
  suites: readonly number[],
  options: OfferOptions,
): Promise<Enumerated> {
  const found: number[] = [];
  for (;;) {
    const unseen = groupsFor(version).filter((code) => !found.includes(code));
    let last: OfferOutcome = { kind: 'refused', why: 'nothing left' };
    let fresh: number | undefined;
    for (const groups of version === 'TLS 1.3' ? [unseen] : [[...unseen, ...found], unseen]) {
      if (groups.length === 0) continue;
      last = await offer(target, { version, suites, groups }, options);
      if (last.kind === 'accepted' && last.group !== undefined && !found.includes(last.group))
        fresh = last.group;
      if (fresh !== undefined || (last.kind !== 'accepted' && last.kind !== 'refused')) break;
    }
    if (fresh === undefined) return { found, last, asksForCertificate: false };
    found.push(fresh);
  }
}

async function look(target: TlsTarget, version: Version, options: OfferOptions): Promise<VersionSeen> {
  const { found, last, asksForCertificate } = await suitesOf(target, version, options);
  const whyOf = (outcome: OfferOutcome): string => ('why' in outcome ? outcome.why : outcome.kind);
  if (found.length === 0)
    return { version, outcome: last.kind, why: whyOf(last), suites: [], groups: [], asksForCertificate };
  const carriers = version === 'TLS 1.3' ? found : version === 'TLS 1.2' ? found.filter(isEphemeralEc) : [];
  const groups = carriers.length === 0 ? undefined : await groupsOf(target, version, carriers, options);
  const cut = [last, ...(groups === undefined ? [] : [groups.last])].find(
    ({ kind }) => kind !== 'accepted' && kind !== 'refused',
  );
  return {
    version,
    outcome: 'accepted',
    suites: found,
    groups: groups?.found ?? [],
    asksForCertificate,
    ...(cut === undefined ? {} : { unfinished: whyOf(cut) }),
  };
}

/** What a server accepts, version by version and suite by suite. At most one connection per version at a time. */
export const surveyTls = (target: TlsTarget, options: OfferOptions): Promise<readonly VersionSeen[]> =>
  Promise.all(VERSION_NAMES.map((version) => look(target, version, options)));
