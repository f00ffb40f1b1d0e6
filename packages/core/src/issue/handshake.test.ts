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
import { keyOf } from '../../test/keys.ts';
import {
  issueCa,
  issueCross,
  issueLeaf,
  type KeyAlgorithm,
  type KeyPair,
  localSigner,
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

const ca = async (
  generation: number,
  algorithm: KeyAlgorithm,
  nameConstraints?: PermittedNames,
): Promise<Ca> => {
  const key = keyOf(algorithm, generation);
  const serial = randomBytes(16);
  return {
    key,
    certificate: parseCertificate(
      await issueCa({
        name: 'mesh',
        generation,
        signer: localSigner(key.privateKey),
        serial,
        notBefore: at(-1),
        notAfter: at(24),
        nameConstraints,
      }),
    ),
  };
};

const cross = async (subject: Ca, issuer: Ca): Promise<string> =>
  pem(
    await issueCross({
      subject: subject.certificate,
      issuer: issuer.certificate,
      signer: localSigner(issuer.key.privateKey),
      serial: randomBytes(8),
      notBefore: at(-1),
      notAfter: at(99),
    }),
  );

const leaf = async (issuer: Ca, algorithm: KeyAlgorithm): Promise<{ pem: string; key: KeyObject }> => {
  const { privateKey, publicKey } = keyOf(algorithm, 0);
  const der = await issueLeaf({
    issuer: issuer.certificate,
    signer: localSigner(issuer.key.privateKey),
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
  test(`a new leaf with its cross-certificate is accepted by every mix of old and new trust (${algorithm})`, async () => {
    const [old, next] = [await ca(1, algorithm), await ca(2, algorithm)];
    const { pem: shown, key } = await leaf(next, algorithm);
    const chain = shown + (await cross(next, old));
    for (const trusted of [[old], [next], [next, old], [old, next]]) {
      expect(await handshake(chain, key, trusted)).toBe('!');
    }
  });
}

test('without the cross-certificate a verifier that holds only the old CA refuses the new leaf', async () => {
  const [old, next] = [await ca(1, 'ECDSA-P256'), await ca(2, 'ECDSA-P256')];
  const { pem: shown, key } = await leaf(next, 'ECDSA-P256');
  await expect(handshake(shown, key, [old])).rejects.toThrow();
  await expect(
    handshake(shown + (await cross(next, old)), key, [await ca(3, 'ECDSA-P256')]),
  ).rejects.toThrow();
});

test('a leaf three CA generations on reaches verifiers of each of them through two cross-certificates', async () => {
  const [one, two, three] = [await ca(1, 'ECDSA-P256'), await ca(2, 'ECDSA-P256'), await ca(3, 'ECDSA-P256')];
  const { pem: shown, key } = await leaf(three, 'ECDSA-P256');
  const chain = shown + (await cross(three, two)) + (await cross(two, one));
  for (const trusted of [one, two, three]) expect(await handshake(chain, key, [trusted])).toBe('!');
});

test('CA generations of different key types cross-sign each other', async () => {
  const [old, next] = [await ca(1, 'RSA-2048'), await ca(2, 'ECDSA-P384')];
  const { pem: shown, key } = await leaf(next, 'ECDSA-P256');
  for (const trusted of [[old], [next]]) {
    expect(await handshake(shown + (await cross(next, old)), key, trusted)).toBe('!');
  }
});

test('a private key read back from PEM signs like the one that was generated', async () => {
  const one = await ca(1, 'ECDSA-P256');
  const copied = createPrivateKey(one.key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const { pem: shown, key } = await leaf({ ...one, key: { ...one.key, privateKey: copied } }, 'ECDSA-P256');
  expect(await handshake(shown, key, [one])).toBe('!');
});

test('name constraints hold in a handshake, of the CA itself and through the cross-certificate', async () => {
  const open = await ca(1, 'ECDSA-P256');
  const fits = await ca(2, 'ECDSA-P256', { dnsNames: ['peer.test'], ipAddresses: ['127.0.0.0/8', '::1'] });
  const other = await ca(2, 'ECDSA-P256', { dnsNames: ['mesh.svc'], ipAddresses: ['127.0.0.0/8', '::1'] });
  const good = await leaf(fits, 'ECDSA-P256');
  const bad = await leaf(other, 'ECDSA-P256');
  for (const trusted of [[fits], [open]])
    expect(await handshake(good.pem + (await cross(fits, open)), good.key, trusted)).toBe('!');
  for (const trusted of [[other], [open]])
    await expect(handshake(bad.pem + (await cross(other, open)), bad.key, trusted)).rejects.toThrow(
      /permitted subtree|unknown ca|closed without a byte/i,
    );
});
