import { createHash } from 'node:crypto';
import { type Instant, isoSeconds, printable } from '@handover/material';

/** What an Event is about. */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid: string;
}

/** Something that happened, as `kubectl describe` shows it. */
export interface Happening {
  readonly type: 'Normal' | 'Warning';
  /** One word for machines. */
  readonly reason: string;
  /** What was being done. */
  readonly action: string;
  readonly note: string;
  /** One of many, each of them said once: it gives way to all others. */
  readonly minor?: boolean;
}

const CONTROLLER = 'handover.dev/operator';
/** As much as events.k8s.io takes, in bytes. */
const MOST_BYTES = 1_024;

/** For people who read it with kubectl: nothing that controls a terminal, and at most as many bytes as fit, cut between characters. */
export const cutMessage = (given: string, most = MOST_BYTES): string => {
  const text = printable(given);
  if (Buffer.byteLength(text) <= most) return text;
  let kept = text.slice(0, most - 3);
  while (Buffer.byteLength(kept) > most - 3) kept = kept.slice(0, -1);
  return `${kept}…`;
};

/** Events about what has no namespace lie in default: kubectl looks there. */
export const namespaceOf = ({ namespace }: Pick<Regarding, 'namespace'>): string => namespace ?? 'default';

/** Of core/v1: kubectl describe sorts by a time that Events of events.k8s.io/v1 may not have. */
export const eventOf = (
  regarding: Regarding,
  { type, reason, action, note }: Happening,
  identity: string,
  now: Instant,
) => {
  const id = createHash('sha256').update(`${regarding.uid} ${reason} ${note} ${now}`).digest('hex');
  const { namespace, ...rest } = regarding;
  return {
    metadata: {
      namespace: namespaceOf(regarding),
      name: `${regarding.name.slice(0, 200)}.${id.slice(0, 16)}`,
    },
    firstTimestamp: isoSeconds(now),
    lastTimestamp: isoSeconds(now),
    count: 1,
    source: { component: CONTROLLER },
    reportingComponent: CONTROLLER,
    reportingInstance: identity.slice(0, 128),
    action,
    reason,
    type,
    message: cutMessage(note),
    involvedObject: { ...rest, ...(namespace === undefined ? {} : { namespace }) },
  };
};
