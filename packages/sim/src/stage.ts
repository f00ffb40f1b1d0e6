import type { AuthorityState, Plan, Stamp } from '@handover/core';
import type { ConsumerFound, Home, ObjectId } from '@handover/engine';
import type { Clock } from '@handover/material';
import type { Certificates } from './certificates.ts';
import type { Faults } from './faults.ts';
import type { Broken } from './invariant.ts';
import type { Random } from './random.ts';
import type { Content, SimulatedStore } from './store.ts';
import type { Strategy } from './strategies.ts';

/** What a controller needs of its world. */
export interface Stage {
  readonly clock: Clock;
  readonly store: SimulatedStore;
  readonly random: Random;
  readonly certificates: Certificates;
  readonly strategy: Strategy;
  readonly faults: Faults;
  /** Kubernetes: consumers are found, and there are caches. */
  readonly found: boolean;
  /** Shortest time between two looks. */
  readonly pace: number;
  /** Between two writes. */
  readonly gap: number;
  /** How old the files of a new process can be. */
  readonly cacheLag: number;
  /** Wraps the home of a controller: tests break it on purpose. */
  meddle(home: Home): Home;
  time(): number;
  /** `soon`: an event of the controller. `later`: one that the world waits for before it is quiet. */
  soon(wait: number, act: () => void): void;
  later(wait: number, act: () => void): void;
  /** Asynchronous code can continue in this instant. */
  resumed(): void;
  /** It continued, and threw an unexpected error. */
  threw(error: unknown): void;
  /** What the home knows of consumers at this instant. */
  consumersFound(): readonly ConsumerFound[];
  stamp(consumer: string, expect: string, stamp: Stamp): void;
  swapped(before: AuthorityState | undefined): void;
  wrote(object: ObjectId, before: Content | undefined): void;
  /** Grows with every change that a list could show. */
  changes(): number;
  quiet(): boolean;
  /** A plan without actions, made on a fresh view. */
  idle(plan: Plan): void;
  fail(broken: Broken): void;
  happened(what: string): void;
  log(line: () => string): void;
}
