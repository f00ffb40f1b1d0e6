import type { Random } from './random.ts';
import type { StrategyName } from './strategies.ts';

/** Everything that can go wrong, by name; all on by default. */
export const FAULTS = [
  'crash',
  'two-controllers',
  'lost-events',
  'late-events',
  'late-writes',
  'stale-reads',
  'stale-caches',
  'conflicts',
  'edits',
  'home-away',
  'clock-jumps',
  'controller-clock-jumps',
  'never-reloads',
  'garbage',
  'second-rotation',
  'distrust',
  'newcomers',
  'evictions',
  'renewal',
  'schedule',
  'expiry',
  'adoption',
  'strips',
  'stranger',
  'clock-leaps',
  'neighbour',
] as const;

export type FaultName = (typeof FAULTS)[number];

/** The share of worlds with each fault, when none is asked for by name. */
const SHARE: Readonly<Record<FaultName, number>> = {
  crash: 0.5,
  'two-controllers': 0.4,
  'lost-events': 0.4,
  'late-events': 0.4,
  'late-writes': 0.5,
  'stale-reads': 0.5,
  'stale-caches': 1,
  conflicts: 0.4,
  edits: 0.3,
  'home-away': 0.4,
  'clock-jumps': 0.3,
  'controller-clock-jumps': 0.3,
  'never-reloads': 0.15,
  garbage: 0.3,
  'second-rotation': 0.4,
  distrust: 0.25,
  newcomers: 0.5,
  evictions: 0.5,
  renewal: 0.4,
  schedule: 0.15,
  expiry: 0.1,
  adoption: 0.2,
  strips: 0.15,
  stranger: 0.4,
  'clock-leaps': 0.2,
  neighbour: 0.3,
};

/** Random faults; those asked for by name are in every world. */
export const chooseFaults = (
  random: Random,
  asked: readonly FaultName[] | undefined,
): ReadonlySet<FaultName> => new Set(asked ?? FAULTS.filter((name) => random.chance(SHARE[name])));

/** What goes wrong inside a controller now; all of it ends with the window. */
export interface Faults {
  readonly crash: boolean;
  readonly lateWrites: boolean;
  readonly staleReads: boolean;
  readonly lostEvents: boolean;
  readonly lateEvents: boolean;
  /** Not a fault: some plans are carried out in one instant, to compare them with the next plan. */
  readonly atomicActs: boolean;
}

export const faultsNow = (
  faults: ReadonlySet<FaultName>,
  stormy: boolean,
  strategy: StrategyName,
): Faults => {
  const has = (name: FaultName): boolean => stormy && faults.has(name);
  return {
    crash: has('crash'),
    lateWrites: has('late-writes'),
    staleReads: has('stale-reads'),
    lostEvents: has('lost-events'),
    lateEvents: has('late-events'),
    atomicActs: strategy === 'phased' || strategy === 'instant',
  };
};
