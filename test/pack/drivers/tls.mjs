import tls from 'node:tls';
import { nodeServer, optionsFrom } from './node-server.mjs';
import { mustBe, text } from './world.mjs';

export const title = 'node:tls';
export const start = (folder) =>
  nodeServer(
    folder,
    tls.createServer(optionsFrom(folder), (socket) => socket.on('error', () => undefined).end('ok')),
  );

export const drivers = [
  {
    name: 'node:tls',
    call: ({ identity, host, port }) => tls.connect({ host, port, ...identity.tlsOptions() }),
    ask: async (call, context) => mustBe('ok')(await text(call(context))),
  },
];
