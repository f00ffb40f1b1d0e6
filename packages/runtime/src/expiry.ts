import type { Instant } from '@handover/material';
import { clearTimeout, setTimeout } from './timers.ts';

/** From when to when a certificate is valid. */
export interface Validity {
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

export type Stage = 'expiring' | 'expired';

/** A certificate is renewed long before this share of its life is left. */
const LAST_SHARE = 0.1;
/** The wall clock may jump, so it is looked at again. */
const LOOK_AGAIN_MS = 3_600_000;

/** Tells, once for each certificate, that the last tenth of its life has begun, and that it has expired. */
export class Expiry {
  readonly #reached: (stage: Stage, notAfter: Instant) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(reached: (stage: Stage, notAfter: Instant) => void) {
    this.#reached = reached;
  }

  watch({ notBefore, notAfter }: Validity): void {
    this.close();
    const steps: { readonly stage: Stage; readonly at: number }[] = [
      { stage: 'expiring', at: notAfter - LAST_SHARE * (notAfter - notBefore) },
      { stage: 'expired', at: notAfter + 1 },
    ];
    const look = () => {
      while (steps[0] !== undefined && steps[0].at <= Date.now()) {
        this.#reached(steps[0].stage, notAfter);
        steps.shift();
      }
      if (steps[0] === undefined) return;
      this.#timer = setTimeout(look, Math.min(LOOK_AGAIN_MS, steps[0].at - Date.now())).unref();
    };
    // Not at once: the caller has had no chance to listen yet.
    this.#timer = setTimeout(look, 0).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
