import type {
  Action,
  Anchor,
  AuthorityState,
  BundleWrite,
  ConsumerSeen,
  LeafWrite,
  Observed,
  Plan,
  Policy,
  Swap,
} from '@handover/core';
import type { Instant } from '@handover/material';
import type { Certificates } from './certificates.ts';
import type { Faults } from './faults.ts';
import type { Home, Landing } from './home.ts';
import type { Random } from './random.ts';
import type { Strategy } from './strategies.ts';

/** One uncached list of the home, and the home's clock from before it: ages must not be counted past what was seen. */
export interface Listing {
  readonly now: Instant;
  readonly objects: Observed['objects'];
  readonly consumers: readonly ConsumerSeen[];
  readonly policy: Policy;
  readonly rotate: readonly string[];
  readonly distrust: readonly number[];
  readonly adoptable: readonly Anchor[];
}

/** What a decision rests on; a write that lands late still rests on it. */
export interface Basis {
  /** How often anything had changed when the list was made. */
  readonly changes: number;
  readonly listing: Listing;
  readonly authority: AuthorityState | undefined;
  /** Private keys that were in the authority's Secret when it was read. */
  readonly keys: ReadonlySet<string>;
}

/** What a controller needs of its world. */
export interface Stage {
  readonly home: Home;
  readonly random: Random;
  readonly certificates: Certificates;
  readonly strategy: Strategy;
  readonly faults: Faults;
  /** Shortest time between two looks. */
  readonly pace: number;
  /** Between two writes. */
  readonly gap: number;
  time(): number;
  /** An event of the controller's own, and one that the world waits for before it calls itself quiet. */
  soon(wait: number, act: () => void): void;
  later(wait: number, act: () => void): void;
  listing(): Listing;
  stamp(consumer: string, seen: ConsumerSeen | undefined, action: Action & { kind: 'stamp' }): Landing;
  swapped(before: Observed['authority'], swap: Swap): void;
  wrote(action: BundleWrite | LeafWrite): void;
  /** Grows with every change that a list could show. */
  changes(): number;
  quiet(): boolean;
  /** A plan that asks for nothing, made on a fresh view. */
  idle(plan: Plan): void;
  notIdempotent(action: Action): void;
  happened(what: string): void;
  log(line: () => string): void;
}
