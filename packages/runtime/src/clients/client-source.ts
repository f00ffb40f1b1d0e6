import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { type Certificate, type Clock, parseBundle } from '@handover/material';
import { Sessions } from './client-sessions.ts';

/** Options of a TLS context that a caller may choose. */
export const CONTEXT_OPTIONS = [
  'allowPartialTrustChain',
  'ciphers',
  'crl',
  'dhparam',
  'ecdhCurve',
  'honorCipherOrder',
  'maxVersion',
  'minVersion',
  'secureOptions',
  'secureProtocol',
  'sessionIdContext',
  'sessionTimeout',
  'sigalgs',
  'ticketKeys',
] as const satisfies readonly (keyof SecureContextOptions)[];

/**
 * TLS options that the caller may choose. Certificates and keys come from the files.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:https';
 * import type { ContextOptions } from '@handover/runtime';
 *
 * const options: ContextOptions = { minVersion: 'TLSv1.3' };
 * identity.serve(createServer((_, response) => response.end('hello')), options).listen(8443);
 * ```
 */
export type ContextOptions = Pick<SecureContextOptions, (typeof CONTEXT_OPTIONS)[number]>;

/** Picks the context options; undefined when there are none, so that the shared context can be used. */
export function contextOptionsIn(options: object | undefined): ContextOptions | undefined {
  const picked: Record<string, unknown> = {};
  for (const name of CONTEXT_OPTIONS) {
    const value = (options as Record<string, unknown> | undefined)?.[name];
    if (value !== undefined) picked[name] = value;
  }
  return Object.keys(picked).length === 0 ? undefined : picked;
}

/** PEM texts for one side of a handshake. */
export interface Pems {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** The material of one load, and its TLS contexts. */
export class TlsMaterial {
  /** 1 for the first load, +1 for each change since. */
  readonly loads: number;
  readonly sessions = new Sessions();
  readonly #pems: Pems;
  readonly #contexts = new WeakMap<ContextOptions, SecureContext>();
  #context: SecureContext | undefined;
  #anchors: readonly Certificate[] | undefined;

  constructor(loads: number, pems: Pems, context?: SecureContext) {
    this.loads = loads;
    this.#pems = pems;
    this.#context = context;
  }

  get ca(): string | undefined {
    return this.#pems.ca;
  }

  /** The CA certificates; undefined for Node's own. */
  get anchors(): readonly Certificate[] | undefined {
    if (this.#pems.ca !== undefined) this.#anchors ??= parseBundle(Buffer.from(this.#pems.ca)).certificates;
    return this.#anchors;
  }

  get cert(): string | undefined {
    return this.#pems.cert;
  }

  get key(): string | undefined {
    return this.#pems.key;
  }

  /** Made once for each options object: 29 ms for a bundle of 150 CAs is too much for each connection. */
  context(options?: ContextOptions): SecureContext {
    if (options === undefined) {
      this.#context ??= contextOf(this.#pems);
      return this.#context;
    }
    const known = this.#contexts.get(options);
    if (known !== undefined) return known;
    const made = contextOf(this.#pems, options);
    this.#contexts.set(options, made);
    return made;
  }
}

export const contextOf = (pems: Pems, options: ContextOptions = {}): SecureContext =>
  createSecureContext({ ...options, ...pems });

/** Followed files, as an adapter needs them. */
export interface ClientSource {
  readonly clock: Clock;
  /** False: servers are not verified at all. */
  readonly verify: boolean;
  /** How long a connection may live on after its server's CA was removed. Undefined: for as long as it likes. */
  readonly drainMs: number | undefined;
  /** Reports connections that were ended at the deadline. */
  cut(connections: number): void;
  /** Reports that the newest material could not be put to use. `by`: the server that goes on with what it took last. */
  complain(thrown: unknown, by?: object): void;
  /** That server uses the newest. */
  taken(by: object): void;
  /** That server is closed. */
  gone(by: object): void;
  /** Takes such reports back: it is in use everywhere. */
  settled(): void;
  /** The newest material. */
  current(): TlsMaterial;
  /** After an unknown authority: reloads, and says whether there is material with more `loads` than `failed`. */
  refresh(failed: number): Promise<boolean>;
  onSwap(listener: () => void): () => void;
  onEnd(listener: () => void): () => void;
}

/** Leads from a public object to its source, for the other entry points of this package. */
export const SOURCE: unique symbol = Symbol.for('@handover/runtime/source') as never;

/**
 * Calls back for as long as the owner lives, and does not keep it alive: an agent that a program dropped must not live as
 * long as its trust. Returns a function that ends it.
 */
export function subscribe<Owner extends object>(
  source: ClientSource,
  owner: Owner,
  { swap, end }: { swap(owner: Owner): void; end(owner: Owner): void },
): () => void {
  const weak = new WeakRef(owner);
  const call = (act: (owner: Owner) => void) => () => {
    const alive = weak.deref();
    if (alive === undefined) off();
    else act(alive);
  };
  const offs = [source.onSwap(call(swap)), source.onEnd(call(end))];
  const off = () => {
    for (const unsubscribe of offs) unsubscribe();
  };
  return off;
}
