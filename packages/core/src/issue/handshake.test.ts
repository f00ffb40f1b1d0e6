import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { type ConnectionOptions, connect, createServer } from 'node:tls';
import {
  type Certificate,
  encodePem,
  hour,
  type Instant,
  instant,
  parseCertificate,
} from '@handover/material';
import { expect, test } from 'vitest';
import {
  generateKey,
  issueCa,
  issueCross,
  issueLeaf,
  type KeyAlgorithm,
  type KeyPair,
  type PermittedNames,
} from './index.ts';

// Handshakes are judged by OpenSSL on the machine's clock, so these tests have to read it.
const now = instant(Date.now());
const at = (hours: number): Instant => instant(now + hours * hour);

interface Ca {
  readonly certificate: Certificate;
  readonly key: KeyPair;
}

const pem = (der: Uint8Array): string => encodePem('CERTIFICATE', der);

const ca = (generation: number, algorithm: KeyAlgorithm, nameConstraints?: PermittedNames): Ca => {
  const key = generateKey(algorithm);
  const serial = randomBytes(16);
  return {
    key,
    certificate: parseCertificate(
      issueCa({
        name: 'mesh',
        generation,
        key,
        serial,
        notBefore: at(-1),
        notAfter: at(24),
        nameConstraints,
      }),
    ),
  };
};

const cross = (subject: Ca, issuer: Ca): string =>
  pem(
    issueCross({
      subject: subject.certificate,
      issuer: issuer.certificate,
      issuerKey: issuer.key.privateKey,
      serial: randomBytes(8),
      notBefore: at(-1),
      notAfter: at(99),
    }),
  );

const leaf = (issuer: Ca, algorithm: KeyAlgorithm): { pem: string; key: KeyObject } => {
  const { privateKey, publicKey } = generateKey(algorithm);
  const der = issueLeaf({
    issuer: issuer.certificate,
    issuerKey: issuer.key.privateKey,
    publicKey,
    serial: randomBytes(20),
    subject: { commonName: 'peer' },
    dnsNames: ['peer.test'],
    ipAddresses: ['127.0.0.1', '::1'],
    uris: ['spiffe://mesh/peer'],
    usages: ['server', 'client'],
    notBefore: at(-1),
    notAfter: at(1),
  });
  return { pem: pem(der), key: privateKey };
};

/** One full mTLS handshake over loopback, both ends showing the same chain; resolves to what the client read. */
const handshake = async (chain: string, key: KeyObject, trusted: readonly Ca[]): Promise<string> => {
  const ca = trusted.map(({ certificate }) => pem(certificate.der));
  const shown = { cert: chain, key: key.export({ type: 'pkcs8', format: 'pem' }), ca };
  const server = createServer({ ...shown, requestCert: true, rejectUnauthorized: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.end('!');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  try {
    const { port } = server.address() as AddressInfo;
    const options: ConnectionOptions = { ...shown, host: '127.0.0.1', port, servername: 'peer.test' };
    return await new Promise((resolve, reject) => {
      const socket = connect(options);
      // A TLS 1.3 client sees secureConnect even when its certificate is refused: only a byte proves acceptance.
      socket.once('data', (data) => resolve(data.toString()));
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('closed without a byte')));
    });
  } finally {
    server.close();
  }
};

for (const algorithm of ['ECDSA-P256', 'ECDSA-P384', 'RSA-2048'] as const) {
  test(`a new leaf with X is accepted by every mix of old and new trust (${algorithm})`, async () => {
    const [old, next] = [ca(1, algorithm), ca(2, algorithm)];
    const { pem: shown, key } = leaf(next, algorithm);
    const chain = shown + cross(next, old);
    for (const trusted of [[old], [next], [next, old], [old, next]]) {
      expect(await handshake(chain, key, trusted)).toBe('!');
    }
  });
}

test('without X a verifier that holds only the old CA refuses the new leaf', async () => {
  const [old, next] = [ca(1, 'ECDSA-P256'), ca(2, 'ECDSA-P256')];
  const { pem: shown, key } = leaf(next, 'ECDSA-P256');
  await expect(handshake(shown, key, [old])).rejects.toThrow();
  await expect(handshake(shown + cross(next, old), key, [ca(3, 'ECDSA-P256')])).rejects.toThrow();
});

test('a leaf three generations on reaches verifiers of each of them through two X', async () => {
  const [one, two, three] = [ca(1, 'ECDSA-P256'), ca(2, 'ECDSA-P256'), ca(3, 'ECDSA-P256')];
  const { pem: shown, key } = leaf(three, 'ECDSA-P256');
  const chain = shown + cross(three, two) + cross(two, one);
  for (const trusted of [one, two, three]) expect(await handshake(chain, key, [trusted])).toBe('!');
});

test('generations of different key types cross-sign each other', async () => {
  const [old, next] = [ca(1, 'RSA-2048'), ca(2, 'ECDSA-P384')];
  const { pem: shown, key } = leaf(next, 'ECDSA-P256');
  for (const trusted of [[old], [next]]) {
    expect(await handshake(shown + cross(next, old), key, trusted)).toBe('!');
  }
});

test('a private key read back from PEM signs like the one that was generated', async () => {
  const one = ca(1, 'ECDSA-P256');
  const copied = createPrivateKey(one.key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const { pem: shown, key } = leaf({ ...one, key: { ...one.key, privateKey: copied } }, 'ECDSA-P256');
  expect(await handshake(shown, key, [one])).toBe('!');
});

test('name constraints hold in a handshake, of the CA itself and through X', async () => {
  const open = ca(1, 'ECDSA-P256');
  const fits = ca(2, 'ECDSA-P256', { dnsNames: ['peer.test'], ipAddresses: ['127.0.0.0/8', '::1'] });
  const other = ca(2, 'ECDSA-P256', { dnsNames: ['mesh.svc'], ipAddresses: ['127.0.0.0/8', '::1'] });
  const good = leaf(fits, 'ECDSA-P256');
  const bad = leaf(other, 'ECDSA-P256');
  for (const trusted of [[fits], [open]])
    expect(await handshake(good.pem + cross(fits, open), good.key, trusted)).toBe('!');
  for (const trusted of [[other], [open]])
    await expect(handshake(bad.pem + cross(other, open), bad.key, trusted)).rejects.toThrow(
      /permitted subtree|unknown ca|closed without a byte/i,
    );
});
