import { createServer } from 'node:https';

/** An API server in a process of its own: a list of no pods, over TLS. Told its certificate by its parent. */
process.once('message', ({ cert, key }: { cert: string; key: string }) => {
  const body = '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}';
  const server = createServer({ cert, key, keepAlive: true }, (_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(body);
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as { port: number }).port));
});
process.once('disconnect', () => process.exit());
