import { type ProfileWorkload, TLS_PROFILE_HASH } from '@handover/core';
import type { Instant } from '@handover/material';
import { FairMap } from '../objects/fair-map.ts';
import { namespaceOfConsumer, type Workload } from './workload.ts';

interface Written {
  readonly hash: string;
  /** The workload's version before the stamp: while the watch still shows it, nothing is known. */
  readonly before: string;
  /** How often another program took this stamp off in a row, and when last. */
  readonly times: number;
  readonly last: Instant | undefined;
  readonly gone: boolean;
}

/** Of all namespaces. */
const MOST_KNOWN = 2_000;

/** Stamps of profiles that were written here, and which of them another program took off again. After a restart it begins empty. */
export class ProfileStamps {
  readonly #written = new FairMap<Written>(MOST_KNOWN, namespaceOfConsumer);

  wrote(consumer: string, hash: string, before: string): void {
    const known = this.#written.get(consumer);
    const { times, last } = known?.hash === hash ? known : { times: 0, last: undefined };
    this.#written.set(consumer, { hash, before, times, last, gone: false });
  }

  /** By what the watch shows now. */
  undone(
    consumer: string,
    { version, annotations }: Pick<Workload, 'version' | 'annotations'>,
    now: Instant,
  ): ProfileWorkload['undone'] {
    let known = this.#written.get(consumer);
    if (known === undefined) return undefined;
    const isGone = version !== known.before && annotations[TLS_PROFILE_HASH] !== known.hash;
    if (isGone && !known.gone) {
      known = { ...known, times: known.times + 1, last: now, gone: true };
      this.#written.set(consumer, known);
    }
    const { hash, times, last } = known;
    return last === undefined ? undefined : { hash, times, last };
  }
}
