import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { createSecureContext, createServer as createTlsServer, TLSSocket } from 'node:tls';
import type { Leaf } from './mock-ca.ts';

/** Just enough of a protocol for its real driver to call a connection good, over real TLS. */
export interface Fake {
  readonly port: number;
  use(leaf: Leaf): void;
  close(): void;
}

async function started(server: Server, use: Fake['use']): Promise<Fake> {
  const open = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    use,
    close: () => {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

async function overTls(leaf: Leaf, greet: string | undefined, answer: (data: Buffer) => Buffer | string) {
  const server = createTlsServer(leaf, (socket) => {
    socket.on('error', () => undefined);
    if (greet !== undefined) socket.write(greet);
    socket.on('data', (data) => socket.write(answer(data)));
  });
  return started(server, ({ cert, key }) => server.setSecureContext({ cert, key }));
}

/** RESP: every command gets the same friendly answer. */
export const fakeRedis = (leaf: Leaf): Promise<Fake> =>
  overTls(leaf, undefined, (data) => '+PONG\r\n'.repeat(data.toString().match(/\*\d+\r\n/g)?.length ?? 0));

export const fakeSmtp = (leaf: Leaf): Promise<Fake> =>
  overTls(leaf, '220 hello\r\n', (data) =>
    data.toString().startsWith('QUIT') ? '221 bye\r\n' : '250 fine\r\n',
  );

/** ApiVersions, the first thing a Kafka client asks: size, correlation id, no error, a list of keys. */
export const fakeKafka = (leaf: Leaf): Promise<Fake> =>
  overTls(leaf, undefined, (data) => {
    const correlationId = data.readInt32BE(8);
    const keys = [3, 18, 36];
    const body = Buffer.alloc(4 + 2 + 4 + keys.length * 6 + 4);
    body.writeInt32BE(correlationId, 0);
    body.writeInt32BE(keys.length, 6);
    keys.forEach((key, i) => {
      body.writeInt16BE(key, 10 + i * 6);
      body.writeInt16BE(2, 14 + i * 6);
    });
    const size = Buffer.alloc(4);
    size.writeInt32BE(body.length);
    return Buffer.concat([size, body]);
  });

/** PostgreSQL: plain at first, `S` to its request for TLS, then authentication is fine and it is ready. */
export function fakePostgres(leaf: Leaf): Promise<Fake> {
  let current = leaf;
  const server = createTcpServer((socket) => {
    socket.once('data', () => {
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, secureContext: createSecureContext(current) });
      secure.on('error', () => undefined);
      secure.once('data', () => {
        secure.write(Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1'));
      });
    });
  });
  return started(server, (next) => {
    current = next;
  });
}
