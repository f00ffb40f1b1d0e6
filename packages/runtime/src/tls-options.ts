import type { SecureContext } from 'node:tls';
import type { ClientSource } from './client-source.ts';

/** Options for `tls.connect` that answer with the newest material whenever they are read or copied. */
export interface LiveTlsOptions {
  readonly secureContext: SecureContext;
  readonly ca?: string;
  /** Not enumerable: drivers that pick it by name get it, a copy or a log line does not. */
  readonly cert?: string;
  readonly key?: string;
  readonly rejectUnauthorized?: false;
}

/**
 * Drivers copy options, some at each connect, some once and for all (node-redis, nodemailer). `node:tls` asks a context for
 * its native half at each connect, so a context whose native half is looked up then is live even in a copy. Tried on
 * Node 20, 22 and 24.
 */
function liveContext(source: ClientSource): SecureContext {
  const context = { get: () => source.current().context().context as unknown, enumerable: true };
  return Object.create(source.current().context(), { context }) as SecureContext;
}

/** Properties are configurable because pg redefines `key` on the object it is given. */
export function liveTlsOptions(source: ClientSource): LiveTlsOptions {
  const live = (get: () => unknown, enumerable: boolean) => ({ get, enumerable, configurable: true });
  const { ca, cert } = source.current();
  return Object.defineProperties(
    {},
    {
      secureContext: { value: liveContext(source), enumerable: true, configurable: true },
      ...(ca === undefined ? {} : { ca: live(() => source.current().ca, true) }),
      ...(cert === undefined
        ? {}
        : {
            cert: live(() => source.current().cert, false),
            key: live(() => source.current().key, false),
          }),
      ...(source.verify ? {} : { rejectUnauthorized: live(() => false, true) }),
    },
  ) as LiveTlsOptions;
}
