import type { Agent } from 'node:https';
import type { SecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
import { type ClientSource, type Pems, SOURCE, TlsMaterial } from './clients/client-source.ts';
import { type HotDispatcherOptions, hotDispatcher, loadUndici } from './clients/dispatcher.ts';
import { hotFetch } from './clients/fetch.ts';
import { HotAgent, type HotAgentOptions } from './clients/https-agent.ts';
import { type LiveTlsOptions, liveTlsOptions } from './clients/tls-options.ts';
import { Followed } from './files/followed.ts';
import type { Follower } from './files/follower.ts';
import type { Loaded, Material } from './files/follower-spec.ts';
import { OWNERS } from './servers/server-contexts.ts';

/** Material that verifies a server and may show a certificate. Loading made, and so checked, the context. */
export interface ClientMaterial extends Material {
  readonly pems: Pems;
  readonly context: SecureContext;
}

function followerSource<Value extends ClientMaterial>(
  follower: Follower<string, Value>,
  verify: boolean,
): ClientSource {
  const materialOf = ({ loads, value }: Loaded<Value>) => new TlsMaterial(loads, value.pems, value.context);
  let current = materialOf(follower.loaded);
  // Subscribed first: adapters that hear of the swap afterwards already find the new material here.
  follower.onSwap((loaded) => {
    current = materialOf(loaded);
  });
  return {
    clock: follower.options.clock,
    verify,
    drainMs: follower.options.drainMs,
    cut: (connections) => follower.cut(connections),
    complain: (thrown, by) => follower.complain(thrown, by),
    taken: (by) => follower.usage.taken(by, follower.loaded),
    gone: (by) => follower.usage.gone(by),
    settled: () => follower.usage.settled(),
    current: () => current,
    refresh: (failed) => follower.refresh(failed),
    onSwap: (listener) => follower.onSwap(() => listener()),
    onEnd: (listener) => follower.onEnd(listener),
  };
}

/** The ways to connect that `Trust` and `Identity` share. */
export abstract class HotClient<Label extends string, Value extends ClientMaterial> extends Followed<
  Label,
  Value
> {
  /** @internal */
  readonly [SOURCE]: ClientSource;

  /**
   * The global `fetch` with this material: the same requests, bodies and responses. It can be handed to a library that takes a
   * `fetch`, such as ky. All calls share one pool of connections.
   *
   * @example
   * ```ts
   * const response = await trust.fetch('https://billing.mesh.svc/');
   * console.log(response.status); // 200
   * ```
   */
  readonly fetch: typeof globalThis.fetch;

  /** @internal */
  constructor(follower: Follower<Label, Value>, verify = true) {
    super(follower);
    this[SOURCE] = followerSource(follower as unknown as Follower<string, Value>, verify);
    this.fetch = hotFetch(this[SOURCE]);
  }

  /**
   * The TLS context of the newest material: the same object until the material changes. For clients, and for the
   * `SNICallback` and the `addContext` of a server of `identity.serve`. Another server that is given it once keeps that certificate.
   *
   * @example
   * ```ts
   * import { connect } from 'node:tls';
   *
   * const socket = connect({ host: 'billing.mesh.svc', port: 443, secureContext: trust.secureContext() });
   * socket.once('secureConnect', () => console.log(socket.authorized)); // true
   * ```
   */
  secureContext(): SecureContext {
    const context = this[SOURCE].current().context();
    OWNERS.set(context.context as object, this);
    return context;
  }

  /**
   * An agent for `node:https`, axios, got and node-fetch. New connections use the newest material.
   *
   * @example
   * ```ts
   * import { get } from 'node:https';
   *
   * const agent = trust.httpsAgent({ maxSockets: 50 });
   * get('https://billing.mesh.svc/', { agent }, (response) => console.log(response.statusCode)); // 200
   * ```
   */
  httpsAgent(options?: HotAgentOptions): Agent {
    return new HotAgent(this[SOURCE], options);
  }

  /**
   * A dispatcher for undici. Throws `PEER_MISSING` when undici is not installed.
   *
   * @example
   * ```ts
   * import { request } from 'undici';
   *
   * const { statusCode } = await request('https://billing.mesh.svc/', { dispatcher: trust.dispatcher() });
   * console.log(statusCode); // 200
   * ```
   */
  dispatcher(options?: HotDispatcherOptions): Dispatcher {
    return hotDispatcher(loadUndici(), this[SOURCE], options);
  }

  /**
   * Options for `tls.connect` and for drivers (pg, ioredis, kafkajs, nodemailer, node-redis). They stay live in a copy.
   * For clients only: a server that is made with them keeps its first certificate. Use `identity.serve`.
   *
   * @example
   * ```ts
   * import { connect } from 'node:tls';
   *
   * const socket = connect({ host: 'billing.mesh.svc', port: 443, ...trust.tlsOptions() });
   * socket.once('secureConnect', () => console.log(socket.authorized)); // true
   * ```
   */
  tlsOptions(): LiveTlsOptions {
    return liveTlsOptions(this[SOURCE]);
  }
}
