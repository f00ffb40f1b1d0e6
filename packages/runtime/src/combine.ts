import { ClientGeneration, type ClientSource, type Pems } from './client-source.ts';
import { Listeners } from './events.ts';

const nothing = () => undefined;

/** Material that came as text and never changes. */
export function fixedSource(pems: Pems, { verify = true, drainMs = 0 } = {}): ClientSource {
  const generation = new ClientGeneration(1, pems);
  return {
    verify,
    drainMs,
    generation: () => generation,
    refresh: async () => false,
    onSwap: () => nothing,
    onEnd: () => nothing,
  };
}

/** Trust from one source, the certificate to show from another; a new generation whenever either changes. */
export function combine(trust: ClientSource, identity: ClientSource): ClientSource {
  const listeners = new Listeners<{ swap: undefined }>();
  const make = (number: number) =>
    new ClientGeneration(number, {
      ca: trust.generation().ca,
      cert: identity.generation().cert,
      key: identity.generation().key,
    });
  let current = make(1);
  const swapped = () => {
    current = make(current.number + 1);
    listeners.emit('swap', undefined);
  };
  trust.onSwap(swapped);
  identity.onSwap(swapped);
  return {
    verify: trust.verify,
    drainMs: trust.drainMs,
    generation: () => current,
    refresh: async (failed) => {
      if (current.number > failed) return true;
      await trust.refresh(trust.generation().number);
      return current.number > failed;
    },
    onSwap: (listener) => listeners.on('swap', listener),
    onEnd: (listener) => trust.onEnd(listener),
  };
}
