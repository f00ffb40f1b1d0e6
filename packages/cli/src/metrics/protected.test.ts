import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { generateKey, issueCa, issueLeaf, localSigner } from '@handover/core';
import type { BoundedServer } from '@handover/engine';
import { connect } from '@handover/kube';
import { after, day, encodePem, hour, instant, parseCertificate } from '@handover/material';
import {
  apiServer,
  eventually,
  type FakeApiServer,
  TestClock,
  temporaryFolder,
} from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { turning } from '../../test/capture.ts';
import { createLog } from '../log.ts';
import { serveProtectedMetrics } from './protected.ts';

let api: FakeApiServer;
let clock: TestClock;
let said = '';
let end: AbortController;
let server: BoundedServer | undefined;
beforeEach(async () => {
  said = '';
  end = new AbortController();
  clock = new TestClock(instant(Date.now()));
  ({ server: api } = await apiServer({ clock }));
});
afterEach(async () => {
  end.abort();
  await server?.close();
});

const serve = async (folder?: string): Promise<void> => {
  server = await serveProtectedMetrics({
    metrics: { page: async () => ({ contentType: 'text/plain', body: 'handover_info 1\n' }) },
    host: '127.0.0.1',
    port: 0,
    kube: connect(api.config, { signal: end.signal, timeout: 1_000, clock }),
    folder,
    log: createLog({
      level: 'trace',
      write: (line) => {
        said += line;
      },
      now: () => clock.now(),
    }),
    clock,
    signal: end.signal,
  });
};

const ask = (path: string, token?: string): Promise<{ status: number; issuer: string }> =>
  new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    request(`${server?.url}${path}`, { agent: false, rejectUnauthorized: false, headers }, (response) => {
      const issuer = String((response.socket as TLSSocket).getPeerCertificate().issuer.CN);
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, issuer }));
    })
      .on('error', reject)
      .end();
  });

test('protected metrics are refused without a token, and while no API server can review it, and no token is in the log', async () => {
  await serve();
  expect(await ask('/metrics')).toMatchObject({
    status: 401,
    issuer: expect.stringContaining('handover-metrics'),
  });
  expect(await ask('/livez')).toMatchObject({ status: 404 });
  // This server knows no reviews, and says 404 to them: no yes, so no.
  expect(await ask('/metrics', 'an-unknown-token')).toMatchObject({ status: 503 });
  await api.stop();
  expect(await turning(clock, ask('/metrics', 'another-token'))).toMatchObject({ status: 503 });
  expect(said).toContain('metrics not reviewed');
  expect(said).not.toMatch(/an-unknown-token|another-token/);
});

/** As a kubelet does: files in a new folder, then one rename. */
const certify = async (folder: string, ca: string): Promise<void> => {
  const now = clock.now();
  const dates = { notBefore: after(now, -hour), notAfter: after(now, day) };
  const signer = localSigner(generateKey('ECDSA-P256').privateKey);
  const key = generateKey('ECDSA-P256');
  const issuer = parseCertificate(
    await issueCa({ name: ca, generation: 1, signer, serial: randomBytes(16), ...dates }),
  );
  const leaf = await issueLeaf({
    issuer,
    signer,
    publicKey: key.publicKey,
    serial: randomBytes(16),
    subject: {},
    dnsNames: ['handover-metrics.handover-system.svc'],
    ipAddresses: [],
    uris: [],
    usages: ['server'],
    ...dates,
  });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of [
    ['tls.key', key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()],
    ['tls.crt', encodePem('CERTIFICATE', leaf)],
  ] as const) {
    writeFileSync(join(folder, `.${name}`), text);
    renameSync(join(folder, `.${name}`), join(folder, name));
  }
};

test('the certificate of protected metrics may come after the start, and change, without a restart', async () => {
  const folder = join(temporaryFolder(), 'tls');
  await serve(folder);
  expect((await ask('/metrics')).issuer).toContain('handover-metrics');
  expect(said).toContain('metrics certificate');
  const serves = async (ca: string): Promise<boolean> => (await ask('/metrics')).issuer.includes(ca);
  await certify(folder, 'first');
  await clock.advance(4_900);
  expect(await serves('first')).toBe(false);
  await clock.advance(100);
  // The runtime reads the files by this machine's clock.
  await eventually(() => serves('first'));
  await certify(folder, 'second');
  await eventually(() => serves('second'));
  expect(said.match(/metrics certificate/g)).toHaveLength(1);
}, 60_000);
