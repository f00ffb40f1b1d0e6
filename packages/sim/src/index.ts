export { Certificates, type Verdict } from './certificates.ts';
export { FAULTS, type FaultName } from './faults.ts';
export type { Failure } from './invariant.ts';
export { Random } from './random.ts';
export {
  type Outcome,
  type Report,
  runSeed,
  runSeeds,
  type Sabotage,
  type SimulateOptions,
  trace,
} from './simulate.ts';
export { STRATEGIES, type Strategy, type StrategyName } from './strategies.ts';
export { simulate } from './threads.ts';
