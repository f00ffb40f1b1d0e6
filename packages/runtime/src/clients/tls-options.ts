import type { SecureContext } from 'node:tls';
import { inspect } from 'node:util';
import { mustSayVerify } from '../arguments.ts';
import type { ClientSource, TlsMaterial } from './client-source.ts';

/**
 * Options for `tls.connect` that give the newest material at each read or copy.
 *
 * @example
 * ```ts
 * import { connect } from 'node:tls';
 * import type { LiveTlsOptions } from '@handover/runtime';
 *
 * const options: LiveTlsOptions = trust.tlsOptions();
 * const socket = connect({ host: 'billing.mesh.svc', port: 443, ...options }, () => {
 *   console.log(socket.authorized); // true
 *   socket.end();
 * });
 * ```
 */
export interface LiveTlsOptions {
  /** Stays live in a copy: it looks up the newest material at each connect. */
  readonly secureContext: SecureContext;
  /** The CA bundle. */
  readonly ca?: string;
  /** The certificate chain. */
  readonly cert?: string;
  /** The private key, as PEM text in a buffer that prints as `[private key]`. */
  readonly key?: Buffer;
  /** False when servers are not verified. Always set: otherwise `NODE_TLS_REJECT_UNAUTHORIZED` would decide. */
  readonly rejectUnauthorized: boolean;
  /** Undefined, and set: an agent of `node:https` then offers no session of a server whose CA has been removed since. */
  readonly session: undefined;
}

/**
 * Drivers copy options at each connect, or only once (node-redis, nodemailer). `node:tls` reads a context's native part at
 * each connect, so a context that looks its native part up is live even in a copy. Tested on Node 20, 22 and 24.
 */
function liveContext(source: ClientSource): SecureContext {
  const context = { get: () => source.current().context().context as unknown, enumerable: true };
  return Object.create(source.current().context(), { context }) as SecureContext;
}

/** A copy of the options may be logged; `node:tls` takes a buffer wherever it takes a text. */
function unprintable(pem: string): Buffer {
  const show = { value: () => '[private key]' };
  return Object.defineProperties(Buffer.from(pem), { [inspect.custom]: show, toJSON: show });
}

/** The same buffer for as long as the material is the same: mysql2 keeps its context, and its sessions, for one. */
function liveKey(source: ClientSource): () => Buffer {
  const keyOf = (material: TlsMaterial) => ({ material, key: unprintable(material.key ?? '') });
  let last = keyOf(source.current());
  return () => {
    if (last.material !== source.current()) last = keyOf(source.current());
    return last.key;
  };
}

/**
 * Properties are configurable because pg redefines `key` on the object it is given. `rejectUnauthorized` can be assigned what it
 * says, because mysql2 does that.
 */
export function liveTlsOptions(source: ClientSource): LiveTlsOptions {
  const live = (get: () => unknown) => ({ get, enumerable: true, configurable: true });
  const { ca, cert } = source.current();
  return Object.defineProperties(
    {},
    {
      secureContext: { value: liveContext(source), enumerable: true, configurable: true },
      ...(ca === undefined ? {} : { ca: live(() => source.current().ca) }),
      ...(cert === undefined
        ? {}
        : {
            cert: live(() => source.current().cert),
            key: live(liveKey(source)),
          }),
      rejectUnauthorized: {
        ...live(() => source.verify),
        set: (value: unknown) => mustSayVerify(value, 'tlsOptions()', source.verify),
      },
      session: live(() => undefined),
    },
  ) as LiveTlsOptions;
}
