import { ACK_PORT, EVIDENCE, isMoving, PROBE, START_TLS, type StartTls } from '@handover/core';
import {
  type Asking,
  type AuthorityRecord,
  askAgainMs,
  askProcess,
  type FairSemaphore,
  FirstServed,
  type ProbeTools,
  type ProcessShown,
  silent,
  UNKNOWN_ISSUER,
  within,
} from '@handover/engine';
import { after, type Instant, METRICS_PATH } from '@handover/material';
import type { Addresses } from './addresses.ts';
import { isMetricsPath } from './endpoints.ts';
import type { Pod } from './pods.ts';

interface Remembered {
  readonly shown: ProcessShown;
  readonly revision: number;
  /** CAs of the authority, those that it has retired meanwhile too. */
  readonly ours: readonly string[];
  readonly at: Instant;
  /** When it was first asked at this revision. */
  readonly since: Instant;
}

/** While nothing is under way, what a pod showed is good for this long. */
const REST_MS = 10 * 60_000;
/** And for this long if it serves nothing, or a leaf that no object holds: it may have reloaded since. */
const UNSETTLED_MS = 60_000;

const isUnsettled = ({ served }: ProcessShown, { issuers, now }: Asking): boolean =>
  served !== undefined &&
  (served.none !== undefined ||
    served.leaves.some(
      ({ fingerprint, notAfter }) =>
        issuers.get(fingerprint) === undefined || (notAfter !== undefined && notAfter <= now),
    ));

const portIn = (text: string | undefined): number | undefined => {
  const port = Number(text);
  return /^\d{1,5}$/.test(text ?? '') && port > 0 && port < 65_536 ? port : undefined;
};

const anchorsOf = ({ state }: AuthorityRecord): readonly string[] =>
  state.generations.flatMap(({ anchors }) => anchors.map(({ fingerprint }) => fingerprint));

/** It named a leaf that no object held, or showed a CA that has been retired since: it has not loaded the newest files yet. */
const isBehind = ({ shown, ours }: Remembered, now: readonly string[]): boolean =>
  shown.proofs.some(
    ({ by, issuer, anchors = [] }) =>
      (by === 'acknowledged' && issuer === UNKNOWN_ISSUER) ||
      anchors.some((anchor) => ours.includes(anchor) && !now.includes(anchor)),
  );

export interface PodEvidenceOptions extends ProbeTools {
  readonly addresses: Addresses;
  readonly semaphore: FairSemaphore;
}

/** What a pod declares about itself: where it can be asked. */
interface Declared {
  readonly pod: Pod;
  readonly ip: string;
  readonly ack: number | undefined;
  readonly metrics: Metrics | undefined;
  readonly probed: Probed | undefined;
}

interface Metrics {
  readonly port: number;
  readonly path: string;
}

interface Probed {
  readonly port: number;
  readonly mtls: boolean;
  readonly starttls?: StartTls;
  readonly serverName?: string;
}

/** Undefined: it declares nothing. What it declares and cannot be asked for is no evidence, and `refused` says why. */
const declaredBy = (
  pod: Pod,
): Declared | { readonly refused: string; readonly isPending?: true } | undefined => {
  const { ip, running, onNode, annotations } = pod;
  const { [ACK_PORT]: ackText, [EVIDENCE]: metricsText, [PROBE]: probeText } = annotations;
  const isAsked = [ackText, metricsText, probeText].some((text) => text !== undefined);
  if (!isAsked) return undefined;
  const ack = portIn(ackText);
  const metrics = metricsIn(metricsText);
  const probed = probeIn(probeText);
  const unreadable =
    ackText !== undefined && ack === undefined
      ? `its annotation ${ACK_PORT} is not a port`
      : metricsText !== undefined && metrics === undefined
        ? `its annotation ${EVIDENCE} is not readable; write it like metrics:9090 or metrics:9090/stats/prometheus, with a path that ends in /metrics or /prometheus`
        : probeText !== undefined && probed === undefined
          ? `its annotation ${PROBE} is not readable; write it like 8443, 8443/mtls or 5432/postgres`
          : undefined;
  if (unreadable !== undefined) return { refused: unreadable };
  if (onNode)
    return {
      refused: `its address is that of its node (hostNetwork); remove its ${ACK_PORT}, ${EVIDENCE} and ${PROBE} annotations`,
    };
  if (ip === undefined || !running)
    return { refused: 'it does not run yet, so that it cannot be asked', isPending: true };
  return { pod, ip, ack, metrics, probed };
};

/** What pods show about themselves: the runtime's status document, a real handshake. Bound to the pod's uid. */
export class PodEvidence {
  readonly #tools: PodEvidenceOptions;
  readonly #known = new Map<string, Remembered>();
  readonly #asking = new Map<string, Promise<ProcessShown>>();
  readonly #served = new FirstServed();

  constructor(options: PodEvidenceOptions) {
    this.#tools = options;
  }

  /** Waits `patience` milliseconds for an answer; a later answer is remembered for the next look. */
  async of(pod: Pod, asking: Asking, patience: number): Promise<ProcessShown | undefined> {
    const declared = declaredBy(pod);
    if (declared === undefined) return undefined;
    const { record, now } = asking;
    if ('refused' in declared)
      return silent(declared.refused, now, declared.isPending === true ? 'pending' : 'not-asked');
    const refused = this.#tools.addresses.why(declared.ip);
    if (refused !== undefined) return silent(refused, now, 'not-asked');
    const key = `${pod.uid} ${record.state.generations[0]?.anchors[0].fingerprint ?? ''}`;
    const before = this.#known.get(key);
    const moving = isMoving(record.state) || (before !== undefined && isBehind(before, anchorsOf(record)));
    const current = before?.revision === record.state.revision ? before : undefined;
    if (current !== undefined) {
      const rest = isUnsettled(current.shown, asking) ? UNSETTLED_MS : REST_MS;
      const wait = moving ? askAgainMs(current.at - current.since) : rest;
      if (now < after(current.at, wait)) return current.shown;
    }
    const answer = this.#asking.get(key) ?? this.#begin(key, declared, asking);
    return within(
      this.#tools.clock,
      patience,
      answer,
      () => current?.shown ?? silent('it has not answered yet', now, 'pending'),
    );
  }

  async #begin(key: string, declared: Declared, asking: Asking): Promise<ProcessShown> {
    const answer = this.#tools.semaphore.take(declared.pod.namespace, () => this.#ask(declared, asking));
    this.#asking.set(key, answer);
    try {
      const shown = this.#dated(key, await answer);
      const { record, now } = asking;
      const { revision } = record.state;
      const before = this.#known.get(key);
      const ours = [...new Set([...anchorsOf(record), ...(before?.ours ?? [])])];
      const since = before?.revision === revision ? before.since : now;
      if (this.#known.size > 20_000) this.#known.clear();
      this.#known.set(key, { shown, revision, ours, at: now, since });
      return shown;
    } finally {
      this.#asking.delete(key);
    }
  }

  #dated(key: string, shown: ProcessShown): ProcessShown {
    const { served } = shown;
    return served === undefined ? shown : { ...shown, served: this.#served.since(key, served) };
  }

  #ask({ pod, ip, ack, metrics, probed }: Declared, asking: Asking): Promise<ProcessShown> {
    const host = ip.includes(':') ? `[${ip}]` : ip;
    const endpoint = {
      uid: pod.uid,
      status: ack === undefined ? undefined : { url: `http://${host}:${ack}/` },
      metrics: metrics === undefined ? undefined : { url: `http://${host}:${metrics.port}${metrics.path}` },
      probe: probed === undefined ? undefined : { ...probed, address: `${host}:${probed.port}` },
    };
    return askProcess(endpoint, asking, this.#tools, true);
  }
}

/** `metrics:9090` or `metrics:9090/stats/prometheus`. */
const metricsIn = (text: string | undefined): Metrics | undefined => {
  const [, portText, path = METRICS_PATH] = /^metrics:(\d+)(\/.*)?$/.exec(text ?? '') ?? [];
  const port = portIn(portText);
  return port === undefined || !isMetricsPath(path) ? undefined : { port, path };
};

const SERVER_NAME = /^sni=([A-Za-z0-9_]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9_])?)$/;

/** `8443`, then `/postgres`, `/mtls` and `/sni=www.example.org`, in that order, as far as they are wanted. */
const probeIn = (text: string | undefined): Probed | undefined => {
  const [first, ...rest] = (text ?? '').split('/');
  const port = portIn(first);
  const starttls = START_TLS.find((protocol) => protocol === rest[0]);
  if (starttls !== undefined) rest.shift();
  const mtls = rest[0] === 'mtls';
  if (mtls) rest.shift();
  const [, serverName] = SERVER_NAME.exec(rest[0] ?? '') ?? [];
  if (port === undefined || rest.length > (serverName === undefined ? 0 : 1)) return undefined;
  return {
    port,
    mtls,
    ...(starttls === undefined ? {} : { starttls }),
    ...(serverName === undefined ? {} : { serverName }),
  };
};
