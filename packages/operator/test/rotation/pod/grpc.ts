import { Client, Server } from '@grpc/grpc-js';
import type { Identity } from '@handover/runtime';
import { credentials, serverCredentials } from '@handover/runtime/grpc';
import type { Target, Verdict } from './handshake.ts';

const PATH = '/mesh.Echo/Say';
const same = (bytes: Buffer): Buffer => bytes;
const ECHO = {
  say: {
    path: PATH,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  },
} as const;
const DEADLINE_MS = 30_000;

export const serveGrpc = (identity: Identity, port: number): Promise<() => Promise<void>> => {
  const server = new Server();
  server.addService(ECHO, {
    say: (call: { request: Buffer }, done: (error: null, value: Buffer) => void) => done(null, call.request),
  });
  return new Promise((resolve, reject) =>
    server.bindAsync(`0.0.0.0:${port}`, serverCredentials(identity), (error) =>
      error === null
        ? resolve(() => new Promise((closed) => server.tryShutdown(() => closed())))
        : reject(error),
    ),
  );
};

/** Calls alternately over a new channel for each call and over one permanent channel. */
export const grpcCaller = (identity: Identity, { name, address }: Target): (() => Promise<Verdict>) => {
  const channel = credentials(identity);
  const open = (): Client =>
    new Client(address, channel, {
      'grpc.ssl_target_name_override': `${name}.mesh.svc`,
      'grpc.default_authority': `${name}.mesh.svc`,
      'grpc.use_local_subchannel_pool': 1,
    });
  const lasting = open();
  let calls = 0;
  return () =>
    new Promise((resolve) => {
      const fresh = calls++ % 4 !== 0;
      const client = fresh ? open() : lasting;
      const deadline = Date.now() + DEADLINE_MS;
      client.makeUnaryRequest(PATH, same, same, Buffer.from('x'), { deadline }, (error) => {
        if (fresh) client.close();
        const unreached = /ECONNREFUSED|EHOSTUNREACH|ETIMEDOUT/.test(error?.details ?? '');
        resolve(
          error === null
            ? { ok: true }
            : {
                ok: false,
                kind: unreached ? 'unreached' : 'handshake',
                why: `${fresh ? 'new' : 'lasting'} channel: ${error.code} ${error.details}`.slice(0, 300),
              },
        );
      });
    });
};
