import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HandoverError } from '@handover/material';
import type { Running } from './service.ts';

export interface View {
  readonly text: () => string;
  readonly document: () => object;
}

const escaped = (text: string): string => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** A plain page for people, and what the services and the authority tell each other; on the loopback address only. */
export async function servePage(
  port: number,
  services: ReadonlyMap<string, Running>,
  view: View,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((request, response) => {
    const [, kind, name = '', verb] = (request.url ?? '').split('/');
    const service = services.get(name);
    if (kind === 'services' && service !== undefined && verb === 'restart' && request.method === 'POST') {
      service.restart().then(
        () => response.writeHead(204).end(),
        () => response.writeHead(500).end(),
      );
      return;
    }
    if (request.method !== 'GET') return void response.writeHead(405).end();
    if (kind === 'services' && service !== undefined && verb === undefined) {
      service.status(Date.now()).then(
        (status) =>
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(status)),
        () => response.writeHead(500).end(),
      );
      return;
    }
    if (kind === 'status.json') {
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(view.document()));
    }
    if (kind !== '') return void response.writeHead(404).end();
    response
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
      .end(
        `<!doctype html><meta http-equiv="refresh" content="1"><title>Handover demo</title><pre>${escaped(view.text())}</pre>`,
      );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new HandoverError(
          'PORT_TAKEN',
          `port ${port} cannot be used (${cause.code}); choose another with --port`,
          {
            cause,
          },
        ),
      ),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
  return { server, port: (server.address() as AddressInfo).port };
}
