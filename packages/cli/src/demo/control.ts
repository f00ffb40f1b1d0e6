import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '@handover/material';
import type { Running } from './service.ts';

/** Serves what each service has loaded, and restarts services. Loopback only. */
export async function serveControl(
  services: ReadonlyMap<string, Running>,
  clock: Clock,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((request, response) => {
    const [, kind, name = '', verb] = (request.url ?? '').split('/');
    const service = kind === 'services' ? services.get(name) : undefined;
    const failed = (): void => void response.writeHead(500).end();
    if (service === undefined) response.writeHead(404).end();
    else if (verb === 'restart' && request.method === 'POST')
      service.restart().then(() => response.writeHead(204).end(), failed);
    else if (verb === undefined && request.method === 'GET')
      service
        .status(clock.now())
        .then(
          (status) =>
            response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(status)),
          failed,
        );
    else response.writeHead(405).end();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  return { server, port: (server.address() as AddressInfo).port };
}
