import { parentPort, workerData } from 'node:worker_threads';
import { type FromWorker, inShares, type ToWorker } from './run-simulation.ts';

const send = (message: FromWorker): void => parentPort?.postMessage(message);

const { options, shares } = workerData as ToWorker;
send({ report: await inShares(options, shares, (soFar) => send({ soFar })) });
