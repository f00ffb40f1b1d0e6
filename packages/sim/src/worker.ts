import { parentPort, workerData } from 'node:worker_threads';
import { runSeeds, type SimulateOptions } from './simulate.ts';

/** One thread's share of the seeds. */
export interface Share {
  readonly options: SimulateOptions;
  readonly offset: number;
  readonly step: number;
}

const { options, offset, step } = workerData as Share;
parentPort?.postMessage(await runSeeds(options, offset, step));
