import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import {
  addOutcomes,
  type RunOutcome,
  runSeeds,
  type SimulateOptions,
  type SimulationReport,
} from './simulate.ts';
import type { Share } from './worker.ts';

/** Fewer seeds than this are faster in one thread than starting a second. */
const WORTH_A_THREAD = 20;

/** The simulation on all cores. Seeds determine everything, so the number of threads changes only the time. */
export const simulate = async (
  options: SimulateOptions,
  threads = availableParallelism(),
): Promise<SimulationReport> => {
  const began = performance.now();
  const total = await outcomes(options, threads);
  const { rotations, handshakes, failures, firstFailure } = total;
  return {
    strategy: options.strategy,
    seeds: options.seeds ?? 1,
    rotations,
    handshakes,
    failures,
    seconds: Math.round((performance.now() - began) / 10) / 100,
    firstFailure,
  };
};

const outcomes = async (options: SimulateOptions, threads: number): Promise<RunOutcome> => {
  const seeds = options.seeds ?? 1;
  const extra = Math.min(threads, Math.floor(seeds / WORTH_A_THREAD)) - 1;
  // Tests run from source, which a plain worker cannot load.
  if (extra < 1 || import.meta.url.endsWith('.ts')) return runSeeds(options);
  const step = extra + 1;
  const others = Array.from({ length: extra }, (_, n) => inThread({ options, offset: n + 1, step }));
  const rest = Promise.all(others);
  rest.catch(() => {}); // awaited below, after this thread's own share
  const own = await runSeeds(options, 0, step);
  return (await rest).reduce(addOutcomes, own);
};

const inThread = (share: Share): Promise<RunOutcome> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: share });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`a simulation thread ended with ${code}`)));
  });
