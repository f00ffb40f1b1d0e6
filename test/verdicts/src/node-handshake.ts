import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import type { Exhibit, Opinion } from './judges.ts';

const said = (socket: TLSSocket): string => (socket.authorized ? 'ok' : String(socket.authorizationError));

/** One real handshake in which both sides present the chain and trust the bundle. Each side's verdict is read, not enforced. */
export const nodeHandshake = ({ chain, bundle, leafKey }: Exhibit): Promise<Opinion> =>
  new Promise((done, fail) => {
    const both = {
      cert: chain.map(({ pem }) => pem).join(''),
      key: leafKey.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      ca: bundle.map(({ pem }) => pem),
      rejectUnauthorized: false,
    };
    let client: string | undefined;
    let server: string | undefined;
    const listener = createServer({ ...both, requestCert: true }, (socket) => {
      client = said(socket);
      socket.on('error', fail);
      socket.end('x');
    });
    listener.on('tlsClientError', fail);
    listener.listen(0, '127.0.0.1', () => {
      const { port } = listener.address() as AddressInfo;
      const socket = connect({ ...both, port, host: '127.0.0.1', checkServerIdentity: () => undefined });
      socket.on('secureConnect', () => {
        server = said(socket);
      });
      socket.on('error', fail);
      // The server has judged its client once it has sent data.
      socket.on('data', () => socket.end());
      socket.on('close', () =>
        listener.close(() => {
          if (server === undefined || client === undefined) fail(new Error('the handshake did not end'));
          else done({ server, client });
        }),
      );
    });
  });
