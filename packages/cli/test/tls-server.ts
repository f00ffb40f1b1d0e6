import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TlsOptions } from 'node:tls';
import { generateKey, issueLeaf, localSigner } from '@handover/core';
import { encodePem, instant } from '@handover/material';
import { caOf } from './material.ts';

/** Valid at the tests' present time and at the real one, which pods use. */
const [FROM, TO] = [Date.UTC(2021, 0, 1), Date.UTC(2045, 0, 1)];
const ca = await caOf(1, FROM, TO);
const key = generateKey('ECDSA-P256');
export const identity = {
  key: key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  cert: encodePem(
    'CERTIFICATE',
    await issueLeaf({
      issuer: ca.certificate,
      signer: localSigner(ca.key.privateKey),
      publicKey: key.publicKey,
      serial: Uint8Array.from({ length: 16 }, (_, n) => n + 1),
      subject: { commonName: 'web' },
      dnsNames: ['web.mesh.svc'],
      ipAddresses: ['127.0.0.1'],
      uris: [],
      usages: ['server'],
      notBefore: instant(FROM),
      notAfter: instant(TO),
    }),
  ),
};

/** A TLS server with an ECDSA key on some address of loopback. */
export async function tlsServer(
  options: TlsOptions,
  host = '127.0.0.1',
): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer({ ...identity, ...options }, (socket) => {
    socket.on('error', () => {});
  });
  server.on('tlsClientError', () => {});
  server.listen(0, host);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, server };
}
