import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { generateKey, issueCa, issueLeaf, localSigner } from '@handover/core';
import { type BoundedServer, localTlsSupport } from '@handover/engine';
import { connect } from '@handover/kube';
import {
  after,
  day,
  encodePem,
  hour,
  instant,
  parseCertificate,
  resolveTlsProfile,
} from '@handover/material';
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

const serve = async (folder?: string, profile?: string): Promise<void> => {
  server = await serveProtectedMetrics({
    metrics: { page: async () => ({ contentType: 'text/plain', body: 'handover_info 1\n' }) },
    host: '127.0.0.1',
    port: 0,
    kube: connect(api.config, { signal: end.signal, timeout: 1_000, clock }),
    folder,
    profile,
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

/** A folder with a TLS profile that can be replaced in one step. */
const profileFile = (): { readonly path: string; readonly write: (type: string) => void } => {
  const folder = temporaryFolder();
  const path = join(folder, 'profile.json');
  return {
    path,
    write: (type) => {
      writeFileSync(`${path}~`, resolveTlsProfile({ type }, localTlsSupport()).json);
      renameSync(`${path}~`, path);
    },
  };
};

/** Whether clients limited to TLS 1.2 and to 1.3 get an answer, and from whom. */
const versions = async (): Promise<readonly [tls12: string, tls13: string, issuer: string]> => {
  const one = (version: 'TLSv1.2' | 'TLSv1.3'): Promise<readonly [string, string]> =>
    new Promise((done) => {
      const limits = { minVersion: version, maxVersion: version } as const;
      request(
        `${server?.url}/metrics`,
        { agent: false, rejectUnauthorized: false, ...limits },
        (response) => {
          const issuer = String((response.socket as TLSSocket).getPeerCertificate().issuer.CN);
          response.resume().on('end', () => done([String(response.statusCode), issuer]));
        },
      )
        .on('error', () => done(['refused', '']))
        .end();
    });
  const [tls12] = await one('TLSv1.2');
  const [tls13, issuer] = await one('TLSv1.3');
  return [tls12, tls13, issuer];
};
const issuer = (): Promise<string> =>
  new Promise((done) => {
    request(`${server?.url}/metrics`, { agent: false, rejectUnauthorized: false }, (response) => {
      done(String((response.socket as TLSSocket).getPeerCertificate().issuer.CN));
      response.resume();
    })
      .on('error', () => done('refused'))
      .end();
  });
const shows = (...wanted: readonly string[]) =>
  eventually(
    async () => JSON.stringify((await versions()).slice(0, wanted.length)) === JSON.stringify(wanted),
  );

test('S1.10 protected metrics ask for a token with and without a TLS profile, and only their TLS follows it', async () => {
  await serve();
  expect(await versions()).toEqual(['401', '401', expect.stringContaining('handover-metrics')]);
  await server?.close();
  const profile = profileFile();
  profile.write('Modern');
  await serve(undefined, profile.path);
  expect(await versions()).toEqual(['refused', '401', expect.stringContaining('handover-metrics')]);
  expect(await ask('/metrics', 'an-unknown-token')).toMatchObject({ status: 503 });
  profile.write('Intermediate');
  await shows('401', '401');
});

test('the TLS profile of protected metrics may come after the start, before or after the certificate, without a restart', async () => {
  const folder = join(temporaryFolder(), 'tls');
  const profile = profileFile();
  await serve(folder, profile.path);
  expect(await versions()).toEqual(['401', '401', expect.stringContaining('handover-metrics')]);
  profile.write('Modern');
  await clock.advance(5_000);
  await shows('refused', '401');
  profile.write('Intermediate');
  await shows('401', '401');
  profile.write('Modern');
  await shows('refused', '401');
  await certify(folder, 'first');
  await clock.advance(5_000);
  await eventually(async () => (await versions())[2].includes('first'));
  expect((await versions()).slice(0, 2)).toEqual(['refused', '401']);
  profile.write('Intermediate');
  await shows('401', '401');
  await certify(folder, 'second');
  await eventually(async () => (await versions())[2].includes('second'));
  profile.write('Modern');
  await shows('refused', '401');
}, 60_000);

test('a TLS profile of protected metrics that comes after the certificate is followed, and so is the certificate', async () => {
  const folder = join(temporaryFolder(), 'tls');
  const profile = profileFile();
  await certify(folder, 'first');
  await serve(folder, profile.path);
  expect(await versions()).toEqual(['401', '401', expect.stringContaining('first')]);
  profile.write('Modern');
  await clock.advance(5_000);
  await shows('refused', '401');
  await certify(folder, 'second');
  await eventually(async () => (await versions())[2].includes('second'));
  expect((await versions()).slice(0, 2)).toEqual(['refused', '401']);
}, 60_000);

test('protected metrics of a TLS profile without TLS 1.3 go on to one with TLS 1.3 alone, also after their certificate came', async () => {
  const folder = join(temporaryFolder(), 'tls');
  const profile = profileFile();
  writeFileSync(
    profile.path,
    JSON.stringify({ ciphers: ['ECDHE-ECDSA-AES128-GCM-SHA256'], minTLSVersion: 'VersionTLS12' }),
  );
  await serve(folder, profile.path);
  expect((await versions()).slice(0, 2)).toEqual(['401', 'refused']);
  await certify(folder, 'first');
  await clock.advance(5_000);
  await eventually(async () => (await issuer()).includes('first'));
  profile.write('Modern');
  await shows('refused', '401');
}, 60_000);

test('protected metrics are served while their TLS profile cannot be used, and the log says why, once', async () => {
  const profile = profileFile();
  writeFileSync(profile.path, '{}');
  await serve(undefined, profile.path);
  await clock.advance(20_000);
  expect((await versions()).slice(0, 2)).toEqual(['401', '401']);
  expect(said.match(/"event":"metrics TLS profile"/g)).toHaveLength(1);
  expect(said).toContain('TLS_PROFILE_INVALID');
  profile.write('Modern');
  await clock.advance(5_000);
  await shows('refused', '401');
  writeFileSync(profile.path, '{}');
  await clock.advance(5_000);
  expect((await versions()).slice(0, 2)).toEqual(['refused', '401']);
});
