// relay READY FROM TO: READY is a file that it creates once it listens; the others are `unix:PATH` or `tcp:HOST:PORT`. Every network
// namespace reaches a unix socket in a directory, so two relays back to back connect this machine's loopback with the cluster's
// own network, without a change to the machine's interfaces, routes or rules.
import { rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer, type NetConnectOpts } from 'node:net';

const parse = (text: string): { path: string } | { host: string; port: number } => {
  const [, unix, host, port] = /^(?:unix:(.+)|tcp:(.+):(\d+))$/.exec(text) ?? [];
  if (unix !== undefined) return { path: unix };
  if (host !== undefined) return { host, port: Number(port) };
  throw new Error(`not an endpoint: ${text}`);
};

const [ready = '', from = '', to = ''] = process.argv.slice(2);
const source = parse(from);
const target: NetConnectOpts = parse(to);
if ('path' in source) rmSync(source.path, { force: true });

createServer({ allowHalfOpen: true }, (client) => {
  const server = createConnection({ ...target, allowHalfOpen: true });
  client.setNoDelay(true);
  server.setNoDelay(true);
  client.on('error', () => server.destroy());
  server.on('error', () => client.destroy());
  client.pipe(server);
  server.pipe(client);
}).listen(source, () => writeFileSync(ready, ''));
