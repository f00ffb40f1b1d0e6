import type { Clock, Instant, Timer } from '@handover/material';

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
  readonly #clock: Clock;
  #timer: Timer | undefined;

  constructor(clock: Clock, reached: (stage: Stage, notAfter: Instant) => void) {
    this.#clock = clock;
    this.#reached = reached;
  }

  watch({ notBefore, notAfter }: Validity): void {
    this.close();
    const steps: { readonly stage: Stage; readonly at: number }[] = [
      { stage: 'expiring', at: notAfter - LAST_SHARE * (notAfter - notBefore) },
      { stage: 'expired', at: notAfter + 1 },
    ];
    const look = () => {
      while (steps[0] !== undefined && steps[0].at <= this.#clock.now()) {
        this.#reached(steps[0].stage, notAfter);
        steps.shift();
      }
      if (steps[0] === undefined) return;
      const left = steps[0].at - this.#clock.now();
      this.#timer = this.#clock.after(Math.min(LOOK_AGAIN_MS, left), look).unref();
    };
    // Not at once: the caller has had no chance to listen yet.
    this.#timer = this.#clock.after(0, look).unref();
  }

  close(): void {
    this.#timer?.cancel();
  }
}
