import type { AuthorityState, Plan, Stamp } from '@handover/core';
import type { ConsumerFound, Home, ObjectId } from '@handover/engine';
import type { Certificates } from './certificates.ts';
import type { Faults } from './faults.ts';
import type { Broken } from './invariant.ts';
import type { Random } from './random.ts';
import type { Content, Store } from './store.ts';
import type { Strategy } from './strategies.ts';

/** What a controller needs of its world. */
export interface Stage {
  readonly store: Store;
  readonly random: Random;
  readonly certificates: Certificates;
  readonly strategy: Strategy;
  readonly faults: Faults;
  /** Where an API server is: consumers are found, and there are caches. */
  readonly found: boolean;
  /** Shortest time between two looks. */
  readonly pace: number;
  /** Between two writes. */
  readonly gap: number;
  /** How old the files can be that a new process starts from. */
  readonly cacheLag: number;
  /** Stands between a controller and its home: a test breaks it on purpose. */
  meddle(home: Home): Home;
  time(): number;
  /** An event of the controller's own, and one that the world waits for before it calls itself quiet. */
  soon(wait: number, act: () => void): void;
  later(wait: number, act: () => void): void;
  /** Somebody's asynchronous code has something to go on with in this instant. */
  resumed(): void;
  /** It went on, and threw what nobody expects. */
  threw(error: unknown): void;
  /** What the home knows of consumers at this instant. */
  consumersFound(): readonly ConsumerFound[];
  stamp(consumer: string, expect: string, stamp: Stamp): void;
  swapped(before: AuthorityState | undefined): void;
  wrote(object: ObjectId, before: Content | undefined): void;
  /** Grows with every change that a list could show. */
  changes(): number;
  quiet(): boolean;
  /** A plan that asks for nothing, made on a fresh view. */
  idle(plan: Plan): void;
  fail(broken: Broken): void;
  happened(what: string): void;
  log(line: () => string): void;
}
