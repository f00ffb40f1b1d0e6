import http2 from 'node:http2';
import grpc from '@grpc/grpc-js';
import { credentials } from '@handover/runtime/grpc';
import { nodeServer, optionsFrom } from './node-server.mjs';
import { mustBe, text } from './world.mjs';

export const title = 'node:http2';
/** Also one method of gRPC: a message of two bytes, and the status 0. */
export const start = (folder) => {
  const server = http2.createSecureServer(optionsFrom(folder)).on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (headers['content-type'] !== 'application/grpc') {
      stream.respond();
      stream.end('ok');
      return;
    }
    stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.from('\0\0\0\0\x02ok'));
  });
  server.on('session', (session) => session.on('error', () => undefined));
  return nodeServer(folder, server);
};

const ok = mustBe('ok');

export const drivers = [
  {
    name: 'node:http2',
    call: ({ identity, url }) => http2.connect(url, identity.tlsOptions()),
    ask: async (call, context) => {
      const session = call(context);
      try {
        ok(
          await new Promise((resolve, reject) => {
            session.once('error', reject);
            text(session.request().setEncoding('utf8')).then(resolve, reject);
          }),
        );
      } finally {
        session.destroy();
      }
    },
  },
  {
    package: '@grpc/grpc-js',
    make: ({ identity, address }) => new grpc.Client(address, credentials(identity)),
    ask: async (client) => {
      const asIs = (value) => value;
      const deadline = { deadline: Date.now() + 15_000 };
      const answer = await new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          '/mesh/ask',
          asIs,
          asIs,
          Buffer.from(''),
          new grpc.Metadata(),
          deadline,
          (error, value) => (error ? reject(error) : resolve(value)),
        );
      });
      ok(String(answer));
    },
    end: (client) => client.close(),
  },
];
