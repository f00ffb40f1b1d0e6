import type { Agent } from 'node:https';
import type { SecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
import { type ClientSource, type Pems, SOURCE, TlsMaterial } from './client-source.ts';
import { type HotDispatcherOptions, hotDispatcher, loadUndici } from './dispatcher.ts';
import { Followed } from './followed.ts';
import type { Follower, Loaded, Material } from './follower.ts';
import { HotAgent, type HotAgentOptions } from './https-agent.ts';
import { type LiveTlsOptions, liveTlsOptions } from './tls-options.ts';

/** Material that can verify a server, and perhaps show a certificate. The context was made, and so checked, on loading. */
export interface ClientMaterial extends Material {
  readonly pems: Pems;
  readonly context: SecureContext;
}

export function followerSource<Value extends ClientMaterial>(
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
    verify,
    drainMs: follower.options.drainMs,
    current: () => current,
    refresh: (failed) => follower.refresh(failed),
    onSwap: (listener) => follower.onSwap(() => listener()),
    onEnd: (listener) => follower.onEnd(listener),
  };
}

/** The ways to connect that trust and identity have in common. */
export abstract class HotClient<Label extends string, Value extends ClientMaterial> extends Followed<
  Label,
  Value
> {
  readonly [SOURCE]: ClientSource;
  #dispatcher: Dispatcher | undefined;

  protected constructor(follower: Follower<Label, Value>, verify = true) {
    super(follower);
    this[SOURCE] = followerSource(follower as unknown as Follower<string, Value>, verify);
  }

  /** The context of the newest material: the same object until that changes. */
  secureContext(): SecureContext {
    return this[SOURCE].current().context();
  }

  /** For `node:https`. Pools connections; new ones use the newest material. */
  httpsAgent(options?: HotAgentOptions): Agent {
    return new HotAgent(this[SOURCE], options);
  }

  /** For undici. Throws `PEER_MISSING` when undici is not installed. */
  dispatcher(options?: HotDispatcherOptions): Dispatcher {
    return hotDispatcher(loadUndici(), this[SOURCE], options);
  }

  /** undici's fetch over one dispatcher of ours, made at the first call. */
  fetch(input: string | URL, init: RequestInit = {}): Promise<Response> {
    const undici = loadUndici();
    this.#dispatcher ??= hotDispatcher(undici, this[SOURCE]);
    const own = { ...init, dispatcher: this.#dispatcher } as Parameters<typeof undici.fetch>[1];
    return undici.fetch(input, own) as unknown as Promise<Response>;
  }

  /** For drivers that copy TLS options at each connect (pg, ioredis, kafkajs, nodemailer). */
  tlsOptions(): LiveTlsOptions {
    return liveTlsOptions(this[SOURCE]);
  }
}
