import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { secretOf } from '@handover/engine';
import { connect, loadKubeConfig, type RequestReport } from '@handover/kube';
import type { Clock, Timer } from '@handover/material';
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

/**
 * How {@link embed} runs.
 *
 * @example
 * ```ts
 * import { type EmbedOptions, type EmbedSpec, embed } from 'handover';
 *
 * const spec: EmbedSpec = {
 *   authority: { name: 'my-webhook' },
 *   leaf: { name: 'my-webhook', dnsNames: ['my-webhook.default.svc'] },
 *   inject: [{ kind: 'ValidatingWebhookConfiguration', name: 'my-webhook' }],
 * };
 * const stop = new AbortController();
 * const options: EmbedOptions = { signal: stop.signal, on: ({ kind }) => console.error(kind) };
 * await embed(spec, options);
 * stop.abort();
 * ```
 */
export interface EmbedOptions {
  /** Stops all writes. Abort it on SIGTERM. */
  readonly signal: AbortSignal;
  /** Path of a kubeconfig. Default: as kubectl finds it; in a pod the service account. */
  readonly kubeconfig?: string | undefined;
  /** Context of the kubeconfig. Default: its current context. */
  readonly context?: string | undefined;
  /** Name of this replica in the Lease. Default: the pod's name and a random suffix. */
  readonly identity?: string | undefined;
  /** Receives actions and failures. Default: failures become process warnings, the same failure at most once a minute. */
  readonly on?: ((event: EmbedEvent) => void) | undefined;
  /** Called after each request to the API server. */
  readonly onRequest?: ((report: RequestReport) => void) | undefined;
}

/**
 * A server's own CA and certificate, kept by the server itself.
 *
 * @example
 * ```ts
 * import { type EmbedSpec, embed, type Own } from 'handover';
 *
 * const spec: EmbedSpec = {
 *   authority: { name: 'my-webhook' },
 *   leaf: { name: 'my-webhook', dnsNames: ['my-webhook.default.svc'] },
 *   inject: [{ kind: 'ValidatingWebhookConfiguration', name: 'my-webhook' }],
 * };
 * const stop = new AbortController();
 * const own: Own = await embed(spec, { signal: stop.signal });
 * await own.ready;
 * console.log(own.waitingFor().length); // 0
 * stop.abort();
 * await own.ended;
 * ```
 */
export interface Own {
  /** The server's certificate. `own.identity.serve(server)` follows every change. */
  readonly identity: Identity;
  /** Resolves once every `caBundle` holds the CA of the served certificate. Rejects when stopped before that. */
  readonly ready: Promise<void>;
  /** What `ready` still waits for, in words. Empty once ready. */
  waitingFor(): readonly string[];
  /** Resolves at most a second after `signal` aborts: the Lease is released, connections are closed. */
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
 * Runs a CA inside your own server, without an operator and without custom resources. Replicas share the CA in a Secret; one
 * of them writes, each serves the certificate from memory. Resolves once there is a certificate to serve, and keeps trying
 * while the API server does not answer.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:https';
 * import { embed } from 'handover';
 *
 * const stop = new AbortController();
 * process.once('SIGTERM', () => stop.abort());
 * const own = await embed(
 *   {
 *     authority: { name: 'my-webhook' },
 *     leaf: { name: 'my-webhook', dnsNames: ['my-webhook.default.svc'] },
 *     inject: [{ kind: 'ValidatingWebhookConfiguration', name: 'my-webhook' }],
 *   },
 *   { signal: stop.signal },
 * );
 * own.identity.serve(createServer((_, response) => response.end('{}'))).listen(8443);
 * await own.ready;
 * console.log(own.waitingFor().length); // 0
 * ```
 */
export async function embed(spec: EmbedSpec, options: EmbedOptions): Promise<Own> {
  const { signal } = options;
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
  const on = options.on ?? warnOfFailures(kube.clock);
  const operator = new Operator({
    kube,
    namespace: authority.metadata.namespace,
    identity: options.identity ?? `${process.env.POD_NAME ?? hostname()}-${randomBytes(4).toString('hex')}`,
    leaseName: `handover-${authority.metadata.name}`,
    scope: { declarations: new GivenResources([authority, leaf, bundle]) },
    // No consumer has to be found: the server of this leaf runs this code, and reloads within `reloadWithin` (LOOK_MS).
    pods: { found: false },
    onSeen: () => server.look(),
    on: (event) => {
      const told = sayToStranger(event);
      if (told !== undefined) on(told);
    },
  });
  const server = new OwnServer({
    home: () => operator.home,
    secret: placeOf(secretOf(leaf)),
    inject: spec.inject,
    signal,
  });
  const looks = everySoOften(kube.clock, LOOK_MS, () => {
    operator.home?.doubtWhatIsNamed();
    server.look();
  });
  const ended = operator
    .run(signal)
    .catch((error: unknown) => on({ kind: 'failed', what: 'embed', error, retryAt: undefined }))
    .then(() => {
      looks.timer?.cancel();
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
const everySoOften = (clock: Clock, ms: number, call: () => void): { timer: Timer | undefined } => {
  const state: { timer: Timer | undefined } = { timer: undefined };
  const plan = (): void => {
    state.timer = clock
      .after(ms * (0.67 + Math.random() * 0.66), () => {
        call();
        plan();
      })
      .unref();
  };
  plan();
  return state;
};
