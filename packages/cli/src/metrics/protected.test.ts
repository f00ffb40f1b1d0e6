import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { generateKey, issueCa, issueLeaf, localSigner } from '@handover/core';
import type { BoundedServer } from '@handover/engine';
import { connect } from '@handover/kube';
import { after, day, encodePem, hour, instant, parseCertificate } from '@handover/material';
import { FakeApiServer } from '@handover/test-api-server';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLog } from '../log.ts';
import { serveProtectedMetrics } from './protected.ts';

const root = mkdtempSync(join(tmpdir(), 'handover-protected-'));
let api: FakeApiServer;
let said = '';
let end: AbortController;
let server: BoundedServer | undefined;
beforeEach(async () => {
  said = '';
  end = new AbortController();
  api = await FakeApiServer.start();
});
afterEach(async () => {
  end.abort();
  await server?.close();
  await api.stop();
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const serve = async (folder?: string): Promise<void> => {
  server = await serveProtectedMetrics({
    metrics: { page: async () => ({ contentType: 'text/plain', body: 'handover_info 1\n' }) },
    host: '127.0.0.1',
    port: 0,
    kube: connect(api.config, { signal: end.signal, timeout: 1_000 }),
    folder,
    log: createLog({
      level: 'trace',
      write: (line) => {
        said += line;
      },
      now: () => instant(Date.now()),
    }),
    now: Date.now,
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

test('without a token nothing is read; when the API server cannot say whose it is, neither; and no token is in the log', async () => {
  await serve();
  expect(await ask('/metrics')).toMatchObject({
    status: 401,
    issuer: expect.stringContaining('handover-metrics'),
  });
  expect(await ask('/livez')).toMatchObject({ status: 404 });
  // This server knows no reviews, and says 404 to them: no yes, so no.
  expect(await ask('/metrics', 'an-unknown-token')).toMatchObject({ status: 503 });
  await api.stop();
  expect(await ask('/metrics', 'another-token')).toMatchObject({ status: 503 });
  expect(said).toContain('metrics not reviewed');
  expect(said).not.toMatch(/an-unknown-token|another-token/);
});

/** As a kubelet does: files in a new folder, then one rename. */
const certify = async (folder: string, ca: string): Promise<void> => {
  const now = instant(Date.now());
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

test('its certificate may come later than the server, and change, without a restart', async () => {
  const folder = join(root, 'tls');
  await serve(folder);
  expect((await ask('/metrics')).issuer).toContain('handover-metrics');
  expect(said).toContain('metrics certificate');
  for (const ca of ['first', 'second']) {
    await certify(folder, ca);
    await vi.waitFor(async () => expect((await ask('/metrics')).issuer).toContain(ca), {
      timeout: 20_000,
      interval: 200,
    });
  }
  expect(said.match(/metrics certificate/g)).toHaveLength(1);
}, 60_000);
