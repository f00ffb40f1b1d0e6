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

/** Properties are configurable because pg redefines `key` on the object it is given. */
export function liveTlsOptions(source: ClientSource): LiveTlsOptions {
  const live = (get: () => unknown, enumerable: boolean) => ({ get, enumerable, configurable: true });
  const { ca, cert } = source.generation();
  return Object.defineProperties(
    {},
    {
      secureContext: live(() => source.generation().context(), true),
      ...(ca === undefined ? {} : { ca: live(() => source.generation().ca, true) }),
      ...(cert === undefined
        ? {}
        : {
            cert: live(() => source.generation().cert, false),
            key: live(() => source.generation().key, false),
          }),
      ...(source.verify ? {} : { rejectUnauthorized: live(() => false, true) }),
    },
  ) as LiveTlsOptions;
}
