import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { secretOf } from '@handover/engine';
import { connect, loadKubeConfig, type RequestReport } from '@handover/kube';
import type { Identity } from '@handover/runtime';
import { OperatorError } from '../error.ts';
import { placeOf } from '../objects/place.ts';
import { GivenResources } from '../resources/declarations.ts';
import { Operator } from '../run/operator.ts';
import type { EmbedEvent } from './events.ts';
import { OwnServer } from './own-server.ts';
import { ownResources } from './resources.ts';
import { sayToStranger } from './say.ts';
import type { EmbedSpec } from './spec.ts';
import { warnOfFailures } from './warn.ts';

export interface EmbedOptions {
  /** Ends it: from then on nothing is written any more. Abort it on SIGTERM. */
  readonly signal: AbortSignal;
  /** Path of a kubeconfig; default: kubectl's rules, and in a pod its service account. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Who this replica is in the Lease; default: the pod's name and something random. */
  readonly identity?: string | undefined;
  /** What it does and what goes wrong. Default: failures become process warnings, the same at most once a minute. */
  readonly on?: ((event: EmbedEvent) => void) | undefined;
  readonly onRequest?: ((report: RequestReport) => void) | undefined;
}

/** A server's own authority, kept by the server itself. */
export interface Own {
  /** Serve with it: `own.identity.serve(server)`. It follows every change. */
  readonly identity: Identity;
  /** Resolves once every caBundle holds the CA of the leaf that is served, never before. Rejects when stopped first. */
  readonly ready: Promise<void>;
  /** What stands between now and ready, in words; empty from then on. */
  waitingFor(): readonly string[];
  /** Resolves after `signal`, at most a second later: the lease is given up, connections are closed. */
  readonly ended: Promise<void>;
}

/** S0's bound for a request that hangs. */
const REQUEST_MS = 10_000;
/**
 * Beside its watches each replica asks for its objects this often, give or take a third: also one whose watch has died without a
 * word has a new leaf within 40 s and the 10 s of a request. So 3 min, the default of `reloadWithin`, are a word that its owner
 * can give: until then the old CA stays trusted everywhere.
 */
const LOOK_MS = 30_000;

/**
 * S0 inside one's own server: its CA lies in a Secret that its replicas share, one of them writes, each serves the leaf from
 * memory. Resolves once there is a leaf to serve, and goes on trying while the API server does not answer.
 */
export async function embed(spec: EmbedSpec, options: EmbedOptions): Promise<Own> {
  const { signal, on = warnOfFailures() } = options;
  signal.throwIfAborted();
  const config = await loadKubeConfig({ kubeconfig: options.kubeconfig, context: options.context });
  const { authority, leaf, bundle } = ownResources(spec, config.namespace);
  const close = new AbortController();
  const kube = connect(config, {
    signal: close.signal,
    timeout: REQUEST_MS,
    userAgent: 'handover-embed',
    ...(options.onRequest === undefined ? {} : { onRequest: options.onRequest }),
  });
  const operator = new Operator({
    kube,
    namespace: authority.metadata.namespace,
    identity: options.identity ?? `${process.env.POD_NAME ?? hostname()}-${randomBytes(4).toString('hex')}`,
    leaseName: `handover-${authority.metadata.name}`,
    declarations: new GivenResources([authority, leaf, bundle]),
    // No consumer has to be found: the server of this leaf runs this code, and reloads within `reloadWithin` (LOOK_MS).
    consumersFound: false,
    onSeen: () => server.look(),
    on: (event) => {
      const told = sayToStranger(event);
      if (told !== undefined) on(told);
    },
    signal,
  });
  const server = new OwnServer({
    home: () => operator.home,
    secret: placeOf(secretOf(leaf)),
    inject: spec.inject,
    signal,
  });
  const looks = everySoOften(LOOK_MS, () => {
    operator.home?.doubtWhatIsNamed();
    server.look();
  });
  const ended = operator
    .run()
    .catch((error: unknown) => on({ kind: 'failed', what: 'embed', error, retryAt: undefined }))
    .then(() => {
      clearTimeout(looks.timer);
      server.end(new OperatorError('EMBED_STOPPED', 'embed was stopped before its server was ready'));
      close.abort();
    });
  let isReady = false;
  server.ready.then(
    () => {
      isReady = true;
    },
    () => undefined,
  );
  return {
    identity: await server.identity,
    ready: server.ready,
    waitingFor: () => (isReady ? [] : [...new Set([...server.missing, ...operator.waitingFor()])]),
    ended,
  };
}

/** Calls again and again, at moments that replicas started together do not share. */
const everySoOften = (ms: number, call: () => void): { timer: NodeJS.Timeout | undefined } => {
  const state: { timer: NodeJS.Timeout | undefined } = { timer: undefined };
  const plan = (): void => {
    state.timer = setTimeout(
      () => {
        call();
        plan();
      },
      ms * (0.67 + Math.random() * 0.66),
    ).unref();
  };
  plan();
  return state;
};
