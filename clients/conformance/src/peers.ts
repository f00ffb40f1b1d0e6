import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Connect, Dial } from './case.ts';
import { fingerprintOf, type Material } from './material.ts';

/** How a connection went, as the runner's end saw it. */
export interface Met {
  /** Fingerprint of the leaf that the other end showed; undefined: the connection was refused. */
  readonly seen: string | undefined;
  readonly resumed: boolean;
  readonly why: string;
}

const TIMEOUT_MS = 10_000;
const leafOf = (socket: TLSSocket): string => fingerprintOf(socket.getPeerCertificate().fingerprint256 ?? '');

/** Sessions that were kept. */
export type Sessions = Map<string, Buffer>;

/** One request to the client's server: an answer proves that both ends took the handshake. */
export const connect = (
  port: number,
  { as, trusts, session }: Connect,
  material: Material,
  sessions: Sessions,
) =>
  new Promise<Met>((resolve) => {
    const refused = (error: Error) => resolve({ seen: undefined, resumed: false, why: error.message });
    const { cert, key } = material.pair(as);
    const kept = session === 'use' ? sessions.get(as) : undefined;
    const asked = request({
      host: '127.0.0.1',
      servername: 'localhost',
      port,
      path: '/',
      agent: false,
      timeout: TIMEOUT_MS,
      ca: material.texts(trusts),
      cert,
      key,
      ...(kept === undefined ? {} : { session: kept }),
    });
    asked.once('socket', (socket) => {
      if (session === 'keep') socket.on('session', (ticket: Buffer) => sessions.set(as, ticket));
    });
    asked.once('timeout', () => asked.destroy(new Error('no answer')));
    asked.once('error', refused);
    asked.once('response', (response) => {
      const socket = response.socket as TLSSocket;
      const met = { seen: leafOf(socket), resumed: socket.isSessionReused(), why: '' };
      response.once('error', refused);
      response.once('end', () => resolve(met));
      response.resume();
    });
    asked.end();
  });

/** A server that the client is to meet, for as long as `dialled` runs. It offers sessions: a client that resumes one is caught. */
export const serveFor = async (
  { serves, accepts }: Dial,
  material: Material,
  dialled: (port: number) => Promise<void>,
): Promise<Met> => {
  const { cert, key } = material.pair(serves);
  let met: Met = { seen: undefined, resumed: false, why: 'no request came' };
  const server = createServer(
    {
      cert,
      key,
      ca: material.texts(accepts),
      requestCert: true,
      // The same for each server of a case, so that a session of the one before could be resumed.
      ticketKeys: Buffer.alloc(48, serves),
      sessionIdContext: 'conformance',
    },
    (request, response) => {
      const socket = request.socket as TLSSocket;
      met = { seen: leafOf(socket), resumed: socket.isSessionReused(), why: '' };
      response.setHeader('connection', 'close');
      response.end('hello');
    },
  );
  server.on('tlsClientError', (error) => {
    met = { seen: undefined, resumed: false, why: error.message };
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  try {
    await dialled((server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
  return met;
};
