import { createServer, request, type Server } from 'node:https';
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

const TIMEOUT_MS = 30_000;
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

const NO_REQUEST: Met = { seen: undefined, resumed: false, why: 'no request came' };

/**
 * The servers that a client is to meet. Each stays at its port until the case is over, and offers sessions: a client that resumes one after its CA
 * was removed is caught.
 */
export class Servers {
  readonly #material: Material;
  readonly #servers = new Map<string, { readonly server: Server; met: Met }>();

  constructor(material: Material) {
    this.#material = material;
  }

  /** What this server saw while `dialled` ran. */
  async during(step: Dial, dialled: (port: number) => Promise<void>): Promise<Met> {
    const one = await this.#server(step);
    one.met = NO_REQUEST;
    await dialled((one.server.address() as AddressInfo).port);
    return one.met;
  }

  async close(): Promise<void> {
    for (const { server } of this.#servers.values()) {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    }
  }

  async #server({ serves, accepts }: Dial): Promise<{ readonly server: Server; met: Met }> {
    const name = `${serves} ${accepts}`;
    const known = this.#servers.get(name);
    if (known !== undefined) return known;
    const { cert, key } = this.#material.pair(serves);
    const server = createServer({
      cert,
      key,
      ca: this.#material.texts(accepts),
      requestCert: true,
      sessionIdContext: 'conformance',
    });
    const one = { server, met: NO_REQUEST };
    this.#servers.set(name, one);
    server.on('request', ({ socket }, response) => {
      const secure = socket as TLSSocket;
      one.met = { seen: leafOf(secure), resumed: secure.isSessionReused(), why: '' };
      response.setHeader('connection', 'close');
      response.end('hello');
    });
    server.on('tlsClientError', ({ message }) => {
      one.met = { ...NO_REQUEST, why: message };
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    return one;
  }
}
