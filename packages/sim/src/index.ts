export { Certificates, type SimulatedVerdict } from './certificates.ts';
export { FAULTS, type FaultName } from './faults.ts';
export type { SimulationFailure } from './invariant.ts';
export { Random } from './random.ts';
export {
  type RunOutcome,
  runSeed,
  runSeeds,
  type Sabotage,
  type SimulateOptions,
  type SimulationReport,
  trace,
} from './simulate.ts';
export { STRATEGIES, type Strategy, type StrategyName } from './strategies.ts';
export { simulate } from './threads.ts';
