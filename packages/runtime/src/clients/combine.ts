import { type Clock, Listeners } from '@handover/material';
import { type ClientSource, type Pems, TlsMaterial } from './client-source.ts';

const nothing = () => undefined;

/** Material that never changes. */
export function fixedSource(pems: Pems, clock: Clock, verify = true): ClientSource {
  const material = new TlsMaterial(1, pems);
  return {
    clock,
    verify,
    drainMs: undefined,
    cut: nothing,
    complain: nothing,
    taken: nothing,
    gone: nothing,
    settled: nothing,
    current: () => material,
    refresh: async () => false,
    onSwap: () => nothing,
    onEnd: () => nothing,
  };
}

/** Trust from one source, the client certificate from another; new material whenever either changes. */
export function combine(trust: ClientSource, identity: ClientSource): ClientSource {
  const listeners = new Listeners<{ swap: undefined }>();
  const make = (loads: number) =>
    new TlsMaterial(loads, {
      ca: trust.current().ca,
      cert: identity.current().cert,
      key: identity.current().key,
    });
  let current = make(1);
  const swapped = () => {
    current = make(current.loads + 1);
    listeners.emit('swap', undefined);
  };
  trust.onSwap(swapped);
  identity.onSwap(swapped);
  return {
    clock: trust.clock,
    verify: trust.verify,
    drainMs: trust.drainMs,
    cut: (connections) => trust.cut(connections),
    complain: (thrown, by) => trust.complain(thrown, by),
    taken: (by) => trust.taken(by),
    gone: (by) => trust.gone(by),
    settled: () => trust.settled(),
    current: () => current,
    refresh: async (failed) => {
      if (current.loads > failed) return true;
      await trust.refresh(trust.current().loads);
      return current.loads > failed;
    },
    onSwap: (listener) => listeners.on('swap', listener),
    onEnd: (listener) => trust.onEnd(listener),
  };
}
