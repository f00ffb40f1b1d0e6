import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { generateKey, issueCa, issueLeaf, type KeyAlgorithm, localSigner } from '@handover/core';
import { encodePem, instant, parseCertificate } from '@handover/material';

const serial = Uint8Array.from({ length: 16 }, (_, n) => n + 1);
const dates = { notBefore: instant(Date.now() - 3_600_000), notAfter: instant(Date.now() + 86_400_000) };

/** A certificate for localhost, and its key, as PEM. */
export const leafFor = async (
  algorithm: KeyAlgorithm,
): Promise<{ readonly cert: string; readonly key: string }> => {
  const signer = localSigner(generateKey('ECDSA-P256').privateKey);
  const issuer = parseCertificate(await issueCa({ name: 'check', generation: 1, signer, serial, ...dates }));
  const key = generateKey(algorithm);
  const der = await issueLeaf({
    issuer,
    signer,
    publicKey: key.publicKey,
    serial,
    subject: { commonName: 'localhost' },
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    uris: [],
    usages: ['server'],
    ...dates,
  });
  return {
    cert: encodePem('CERTIFICATE', der),
    key: key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
};

/** Servers on loopback; they end with the test. */
export class Servers {
  readonly #ends: (() => void)[] = [];

  async listen(server: Server): Promise<{ readonly host: string; readonly port: number }> {
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    });
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#ends.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  }

  tls(options: TlsOptions) {
    return this.listen(
      createServer(options, (socket) => {
        socket.on('error', () => {});
      }),
    );
  }

  tcp(connected: (socket: Socket) => void) {
    return this.listen(createTcpServer(connected));
  }

  end(): void {
    for (const end of this.#ends.splice(0)) end();
  }
}
