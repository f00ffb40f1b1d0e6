import type { NotServed, Proof, Served, Unread } from '@handover/core';
import type { Instant } from '@handover/material';
import type { AuthorityId } from '../snapshot/home.ts';
import { answerOf, type ProbeResult, type ProbeTarget, type ProbeTools, probe } from './probe.ts';
import { askCommand } from './probe-command.ts';
import { type DocumentRead, type Issued, UNKNOWN_ISSUER, unreadable, unreadOf } from './read-document.ts';
import { notServed, servedOf } from './served.ts';
import { askMetrics, askStatus } from './status-document.ts';
import type { Endpoint } from './whereabouts.ts';

/** On behalf of which authority a process is asked, and when. */
export interface Asking extends Issued {
  readonly authority: AuthorityId;
  /** As of a `ProbeTarget`. */
  readonly otherLeaf?: ProbeTarget['otherLeaf'];
}

/** What one process shows of itself. */
export interface ProcessShown {
  readonly proofs: readonly Proof[];
  readonly unread: Unread;
  readonly pid?: number;
  readonly saw?: ProbeResult['saw'];
  /** Undefined: it need not show a leaf. */
  readonly served?: Served | undefined;
}

/** Shows nothing of what it was to show. */
export const silent = (why: string, at: Instant, reason: NotServed): ProcessShown => ({
  proofs: [],
  unread: { trust: why, leaf: why },
  served: notServed(at, why, reason),
});

/** The reasons of all ways in which a question was asked, if none of them answered it. */
const both = (answered: boolean, reasons: readonly (string | undefined)[]): string | undefined => {
  const given = reasons.filter((reason) => reason !== undefined);
  return answered || given.length === 0 ? undefined : given.join('; ');
};

/** An address passes to another pod when one ends: the document of another pod is no evidence for this one. */
const statusOf = async (
  { uid, status }: Endpoint,
  asking: Asking,
  tools: ProbeTools,
  mustName: boolean,
): Promise<DocumentRead> => {
  if (status === undefined) return { unread: {} };
  const read = await askStatus(status, asking, tools.clock);
  const { proof, podUid } = read;
  const isItsOwn = uid === undefined || (podUid ?? (mustName ? '' : uid)) === uid;
  tools.meters?.asked('status', proof !== undefined && isItsOwn ? 'shown' : 'silent');
  if (proof === undefined || isItsOwn) return read;
  return unreadable(
    `the status document is of ${podUid === undefined ? 'a process that names no pod in podUid' : 'another pod'}`,
  );
};

const servesNone = ({ leaf }: Unread, now: Instant): Served | undefined =>
  leaf === undefined ? undefined : notServed(now, leaf, 'unread');

/** Asks a process in every way that was declared for it; `mustName`: its status document must name its pod. */
export const askProcess = async (
  endpoint: Endpoint,
  asking: Asking,
  tools: ProbeTools,
  mustName = false,
): Promise<ProcessShown> => {
  const said = await statusOf(endpoint, asking, tools, mustName);
  const counted =
    endpoint.metrics === undefined ? undefined : await askMetrics(endpoint.metrics, asking, tools.clock);
  if (counted !== undefined) tools.meters?.asked('metrics', counted.proof === undefined ? 'silent' : 'shown');
  const { authority, record, now, otherLeaf } = asking;
  const probed =
    endpoint.probe === undefined
      ? undefined
      : await probe({ ...endpoint.probe, authority, otherLeaf }, record, tools, now);
  if (probed !== undefined) tools.meters?.asked('probe', answerOf(probed));
  const printed = endpoint.command === undefined ? undefined : await askCommand(endpoint.command, asking);
  if (printed !== undefined) tools.meters?.asked('probe', printed.proof === undefined ? 'silent' : 'shown');
  const proofs = [...[said, counted, printed].flatMap((one) => one?.proof ?? []), ...(probed?.proofs ?? [])];
  const unread = unreadOf(
    both(
      proofs.some(({ anchors }) => anchors !== undefined),
      [said.unread.trust, counted?.unread.trust, probed?.unread.trust, printed?.unread.trust],
    ),
    both(
      proofs.some(({ issuer }) => issuer !== undefined && issuer !== UNKNOWN_ISSUER),
      [said.unread.leaf, counted?.unread.leaf, probed?.unread.leaf, printed?.unread.leaf],
    ),
  );
  const served = probed?.served ?? printed?.served ?? servedOf(proofs) ?? servesNone(unread, now);
  return {
    proofs,
    unread,
    ...(served === undefined ? {} : { served }),
    ...(probed?.saw === undefined ? {} : { saw: probed.saw }),
    ...(said.pid === undefined ? {} : { pid: said.pid }),
  };
};
