import type { Instant } from '@handover/material';
import type { ConsumerFound, EvidenceSource, HomeClock } from './snapshot.ts';

/**
 * Consumers whose dates can be believed: an instance that was dated in the future when first seen was made before the clock
 * was set back, and never has a date (docs/decisions/0006 §7); nor has one whose date the clock has shown twice. One of these
 * per home: uncached looks and cached ones share what was seen first.
 */
export class CreationDates {
  readonly #clock: Pick<HomeClock, 'now' | 'setBacks'>;
  readonly #misdated = new Set<string>();

  constructor(clock: Pick<HomeClock, 'now' | 'setBacks'>) {
    this.#clock = clock;
  }

  of(source: EvidenceSource): EvidenceSource {
    return {
      consumers: async (...asked) => this.#dated(await source.consumers(...asked)),
    };
  }

  #dated(consumers: readonly ConsumerFound[]): readonly ConsumerFound[] {
    // By the clock of after the list: what came between the look's `now` and the list is not from the future.
    const now = this.#clock.now();
    const setBacks = this.#clock.setBacks?.() ?? [];
    const twice = (date: Instant): boolean => setBacks.some(({ from, to }) => date > to && date <= from);
    for (const { instances } of consumers) {
      for (const { uid, createdAt } of instances) {
        if (createdAt !== undefined && (createdAt > now || twice(createdAt))) this.#misdated.add(uid);
      }
    }
    if (this.#misdated.size === 0) return consumers;
    return consumers.map((consumer) => ({
      ...consumer,
      instances: consumer.instances.map((instance) =>
        this.#misdated.has(instance.uid) ? { ...instance, createdAt: undefined } : instance,
      ),
    }));
  }
}
