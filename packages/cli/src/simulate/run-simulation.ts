import { Worker } from 'node:worker_threads';
import { type SimulateOptions, type SimulationReport, simulate } from '@handover/sim';

const together = (a: SimulationReport, b: SimulationReport): SimulationReport => ({
  ...a,
  seeds: a.seeds + b.seeds,
  rotations: a.rotations + b.rotations,
  handshakes: a.handshakes + b.handshakes,
  failures: a.failures + b.failures,
  seconds: Math.round((a.seconds + b.seconds) * 100) / 100,
  firstFailure: a.firstFailure ?? b.firstFailure,
});

/** The simulation in shares, in order of their seeds; `progress` gets the report so far after each. */
export const inShares = async (
  options: SimulateOptions,
  shares: number,
  progress: (soFar: SimulationReport) => void,
): Promise<SimulationReport> => {
  const seeds = options.seeds ?? 1;
  const from = options.from ?? 1;
  const share = Math.ceil(seeds / shares);
  let total: SimulationReport | undefined;
  for (let done = 0; total === undefined || done < seeds; done += share) {
    const report = await simulate({ ...options, from: from + done, seeds: Math.min(share, seeds - done) });
    total = total === undefined ? report : together(total, report);
    progress(total);
  }
  return total;
};

export interface ToWorker {
  readonly options: SimulateOptions;
  readonly shares: number;
}
export type FromWorker = { readonly soFar: SimulationReport } | { readonly report: SimulationReport };

/** In its own thread: a simulation would keep the main thread from handling Ctrl-C. */
export const runSimulation = (
  options: SimulateOptions,
  shares: number,
  progress: (soFar: SimulationReport) => void,
): Promise<SimulationReport> => {
  // Tests run from source, which a plain worker cannot load.
  if (import.meta.url.endsWith('.ts')) return inShares(options, shares, progress);
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./simulation-thread.js', import.meta.url), {
      workerData: { options, shares } satisfies ToWorker,
    });
    worker.on('message', (message: FromWorker) => {
      if ('report' in message) resolve(message.report);
      else progress(message.soFar);
    });
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the simulation's thread ended with ${code}`)));
  });
};
