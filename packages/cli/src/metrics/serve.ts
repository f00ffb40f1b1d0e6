import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HandoverError } from '@handover/material';
import type { Metrics } from './metrics.ts';

export interface MetricsServer {
  readonly url: string;
  close(): Promise<void>;
}

/** `/metrics`, and nothing else. */
export async function serveMetrics(
  metrics: Metrics,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<MetricsServer> {
  const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 }, (request, response) => {
    const [path] = (request.url ?? '').split('?', 1);
    if (path !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('no such page\n');
      return;
    }
    void metrics.page().then(
      ({ contentType, body }) =>
        response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' }).end(body),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new HandoverError(
          'ADDRESS_UNUSABLE',
          `${host}:${port} cannot be listened on (${cause.code}); choose another --metrics-address`,
          { cause },
        ),
      ),
    );
    server.listen(port, host, resolve);
  });
  const { address, family, port: chosen } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${chosen}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
