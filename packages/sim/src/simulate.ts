import type { Home } from '@handover/engine';
import { second } from '@handover/material';
import type { FaultName } from './faults.ts';
import type { SimulationFailure } from './invariant.ts';
import type { Wishes } from './setup.ts';
import { STRATEGIES, type Strategy, type StrategyName } from './strategies.ts';
import { World } from './world.ts';

export interface SimulateOptions {
  readonly strategy: StrategyName;
  /** How many worlds; default 1. */
  readonly seeds?: number | undefined;
  /** The first seed; default 1. */
  readonly from?: number | undefined;
  /** A fleet of this many hot consumers instead of a mixed one. */
  readonly consumers?: number | undefined;
  /** Their reload delays in seconds, assigned in turn. */
  readonly delays?: readonly number[] | undefined;
  /** Exactly these, in every world; default: random ones for each world. */
  readonly faults?: readonly FaultName[] | undefined;
}

/** The result of one seed, or of many. */
export interface RunOutcome {
  readonly rotations: number;
  readonly handshakes: number;
  readonly failures: number;
  readonly firstFailure: SimulationFailure | null;
  /** Worlds that came to rest with a consumer named as blocking. */
  readonly blocked: number;
  /** How often each fault happened. */
  readonly faults: Readonly<Record<string, number>>;
}

export interface SimulationReport {
  readonly strategy: StrategyName;
  readonly seeds: number;
  /** Rotations that ended. */
  readonly rotations: number;
  /** Presenter–verifier pairs checked, over all steps. */
  readonly handshakes: number;
  readonly failures: number;
  readonly seconds: number;
  readonly firstFailure: SimulationFailure | null;
}

const wishesOf = (options: SimulateOptions): Wishes => ({
  strategy: options.strategy,
  faults: options.faults,
  consumers: options.consumers,
  delays: options.delays?.map((delay) => delay * second),
});

const outcomeOf = (world: World): RunOutcome => ({
  rotations: world.rotations,
  handshakes: world.handshakes.count,
  failures: world.handshakes.failures + world.otherFailures,
  firstFailure: world.firstFailure ?? null,
  blocked: world.blockedBy.length > 0 ? 1 : 0,
  faults: Object.fromEntries(world.counts),
});

/** For tests that break something on purpose. */
export interface Sabotage {
  /** Replaces the named one. */
  readonly strategy?: Strategy;
  /** Wraps the home of every controller. */
  readonly meddle?: (home: Home) => Home;
}

const worldOf = (seed: number, options: SimulateOptions, sabotage: Sabotage, traced: boolean): World =>
  new World(
    seed,
    wishesOf(options),
    sabotage.strategy ?? STRATEGIES[options.strategy],
    sabotage.meddle ?? ((home) => home),
    traced,
  );

/** One world, from its seed to its end. */
export const runSeed = async (
  seed: number,
  options: SimulateOptions,
  sabotage: Sabotage = {},
): Promise<RunOutcome> => {
  const world = worldOf(seed, options, sabotage, false);
  await world.run();
  return outcomeOf(world);
};

/** Repeats a world and traces every event, one line each. */
export const trace = async (
  seed: number,
  options: SimulateOptions,
  sabotage: Sabotage = {},
): Promise<readonly string[]> => {
  const world = worldOf(seed, options, sabotage, true);
  await world.run();
  return world.lines ?? [];
};

export const addOutcomes = (a: RunOutcome, b: RunOutcome): RunOutcome => {
  const faults: Record<string, number> = { ...a.faults };
  for (const [name, count] of Object.entries(b.faults)) faults[name] = (faults[name] ?? 0) + count;
  const [first, second] = [a.firstFailure, b.firstFailure];
  return {
    rotations: a.rotations + b.rotations,
    handshakes: a.handshakes + b.handshakes,
    failures: a.failures + b.failures,
    firstFailure: first !== null && (second === null || first.seed <= second.seed) ? first : second,
    blocked: a.blocked + b.blocked,
    faults,
  };
};

const NO_OUTCOME: RunOutcome = {
  rotations: 0,
  handshakes: 0,
  failures: 0,
  firstFailure: null,
  blocked: 0,
  faults: {},
};

/** Every `step`th seed of the range, in this thread. */
export const runSeeds = async (options: SimulateOptions, offset = 0, step = 1): Promise<RunOutcome> => {
  const from = options.from ?? 1;
  let total = NO_OUTCOME;
  for (let seed = from + offset; seed < from + (options.seeds ?? 1); seed += step) {
    total = addOutcomes(total, await runSeed(seed, options));
  }
  return total;
};
