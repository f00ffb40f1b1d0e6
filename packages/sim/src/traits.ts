import type { Reload } from '@handover/core';
import type { Handshakes } from './handshakes.ts';
import type { Random } from './random.ts';
import type { SimulatedStore } from './store.ts';

/** Properties of a consumer. Times in milliseconds. */
export interface Traits {
  readonly id: string;
  readonly reload: Reload;
  readonly ownersWord: boolean;
  readonly blocks: boolean;
  /** Whether the home knows it. */
  readonly declared: boolean;
  readonly presents: readonly string[];
  readonly verifies: readonly string[];
  readonly stripsCross: boolean;
  readonly evidence: 'acknowledged' | 'probed' | 'none';
  /** The longest time from a write to its load. */
  readonly delay: number;
  /** Always the whole delay, not a random part of it. */
  readonly punctual?: boolean;
  /** From a load until the home has the evidence. */
  readonly reportDelay: number;
  /** `never`: loads only at its start. `garbage`: reads only garbage, and keeps the last good content. */
  readonly stuck: 'never' | 'garbage' | undefined;
  /** Sometimes it reads a half-written file, keeps the last good content, and tries again. */
  readonly clumsy: boolean;
  readonly workload: boolean;
  readonly pods: number;
}

/** What a consumer needs of its world. */
export interface SimulatedSurroundings {
  readonly store: SimulatedStore;
  readonly random: Random;
  readonly handshakes: Handshakes;
  /** How old the files of a new process can be, and those of a running one. */
  readonly cacheLag: number;
  readonly volumeLag: number;
  time(): number;
  later(wait: number, act: () => void): void;
  happened(what: string): void;
  log(line: () => string): void;
  /** Consumers, as the home sees them, have changed. */
  consumersChanged(): void;
}
