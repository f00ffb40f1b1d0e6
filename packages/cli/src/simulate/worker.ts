import { parentPort, workerData } from 'node:worker_threads';
import type { SimulateOptions } from '@handover/sim';
import { type FromWorker, inShares } from './run-simulation.ts';

const send = (message: FromWorker): void => parentPort?.postMessage(message);

send({ report: await inShares(workerData as SimulateOptions, (soFar) => send({ soFar })) });
