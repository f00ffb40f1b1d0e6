import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '@handover/runtime/clock';
import { Service } from './service.ts';
import type { Given, ServiceAnswer, ServiceCall } from './threaded-service.ts';

const { name, manner, folder } = workerData as Given;
const service = new Service(name, manner, folder, systemClock);

const done = async (asked: ServiceCall): Promise<unknown> => {
  switch (asked.do) {
    case 'start':
      return service.start();
    case 'restart':
      return service.restart();
    case 'call':
      return service.call(asked.other);
    case 'status':
      return service.status(asked.at);
    default:
      return asked satisfies never;
  }
};

parentPort?.on('message', (asked: ServiceCall & { readonly id: number }) => {
  const answer = (rest: Pick<ServiceAnswer, 'result' | 'problem'>): void =>
    parentPort?.postMessage({ id: asked.id, port: service.port, ...rest } satisfies ServiceAnswer);
  done(asked).then(
    (result) => answer({ result }),
    (error) => answer({ problem: error instanceof Error ? error.message : String(error) }),
  );
});
