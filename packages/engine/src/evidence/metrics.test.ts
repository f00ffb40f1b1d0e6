import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parseCertificates } from '@handover/material';
import { openIdentity, openTrust, statusMetrics } from '@handover/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { documentOf, MESH_ID, MeshHomes, pass, recordOf, secret } from '../../test/mesh-home.ts';
import { askMetrics } from '../index.ts';

const homes = new MeshHomes();
const { clock } = homes;

/** A program whose metrics page is this text, and which paths it was asked for. */
const program = async () => {
  const shows = { text: '', status: 200, paths: [] as (string | undefined)[] };
  const server = createServer((request, response) => {
    shows.paths.push(request.url);
    response.writeHead(shows.status, { location: '/elsewhere' }).end(shows.text);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  return { shows, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
};

const fingerprintsIn = (pem: string): readonly string[] =>
  parseCertificates(pem).certificates.map(({ fingerprint }) => fingerprint);

/** The page of a program that has loaded this bundle and this chain. */
const pageOf = (bundle: string, chain: string): string =>
  [
    '# TYPE tls_trust_anchor_info gauge',
    ...fingerprintsIn(bundle).map((sha256) => `tls_trust_anchor_info{sha256="${sha256}"} 1`),
    `tls_leaf_info{sha256="${fingerprintsIn(chain)[0]}"} 1`,
    'process_cpu_seconds_total 0.5\n',
  ].join('\n');

test('A consumer that shows metrics goes through a rotation as it loads its files, and holds it up as long as it does not', async () => {
  const { shows, origin } = await program();
  const home = homes.mesh(
    `{name: slow, presents: true, verifies: true, leaf: a, metrics: {url: "${origin}/stats?all"}}`,
  );
  const loads = (): void => {
    shows.text = pageOf(secret(home, 'a', 'ca.crt'), secret(home, 'a', 'tls.crt'));
  };
  const look = async () => {
    const { phase, blockedBy } = (await pass(home)).plan;
    return [phase, ...blockedBy.map(({ consumer, waitsFor }) => `${consumer} ${waitsFor}`)];
  };
  await pass(home);
  loads();
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  await pass(home);
  homes.later(1_000_000);
  expect(await look()).toEqual(['Introducing', 'slow to load CA generation 2']);
  shows.text = 'up 1\n';
  expect(await look()).toEqual([
    'Introducing',
    `slow to load CA generation 2 (no metrics from ${origin}/stats: the page has neither tls_trust_anchor_info nor tls_leaf_info)`,
  ]);
  loads();
  expect((await look())[0]).toBe('Activating');
  homes.later(1_000_000);
  expect(await look()).toEqual(['Activating', 'slow to load a leaf of CA generation 2']);
  loads();
  expect(await look()).toEqual(['Stable']);
  expect(new Set(shows.paths)).toEqual(new Set(['/stats?all']));
});

test('a metrics page is acknowledged evidence of the moment it is read; it is asked for at /metrics, and no redirect is followed', async () => {
  const { shows, origin } = await program();
  const home = homes.mesh('');
  await pass(home);
  const record = await recordOf(home);
  const [ca] = fingerprintsIn(secret(home, 'a', 'ca.crt'));
  const [leaf] = fingerprintsIn(secret(home, 'a', 'tls.crt'));
  const ask = () =>
    askMetrics(
      { url: origin },
      { record, now: homes.now, issuers: new Map([[leaf ?? '', ca ?? '']]) },
      clock,
    );
  shows.text = pageOf(secret(home, 'a', 'ca.crt'), secret(home, 'a', 'tls.crt'));
  expect(await ask()).toEqual({
    unread: {},
    proof: {
      by: 'acknowledged',
      at: homes.now,
      anchors: [ca],
      complete: true,
      issuer: ca,
      leaves: [{ fingerprint: leaf }],
    },
  });
  shows.text = shows.text.replace(`{sha256="${ca}"} 1`, `{sha256="${ca}"} 0`);
  expect((await ask()).unread.trust).toBe(
    `the metrics page of ${origin} lists no CA of this authority in tls_trust_anchor_info`,
  );
  shows.text = `tls_trust_anchor_info{sha256="${ca}"} 1\n`;
  expect((await ask()).unread).toEqual({ leaf: `the metrics page of ${origin} has no tls_leaf_info` });
  shows.text = `tls_leaf_info{sha256="${'f'.repeat(64)}"} 1\n`;
  expect(await ask()).toMatchObject({
    proof: { issuer: 'unknown' },
    unread: {
      trust: `the metrics page of ${origin} has no tls_trust_anchor_info`,
      leaf: expect.stringMatching(
        /shows in tls_leaf_info a certificate that .* or give the label issuer_key_id/,
      ),
    },
  });
  shows.status = 302;
  expect(await ask()).toMatchObject({
    unread: { leaf: `no metrics from ${origin}: the answer is HTTP 302` },
  });
  expect(new Set(shows.paths)).toEqual(new Set(['/metrics']));
});

test('the metrics that the runtime writes of followed files are evidence of these files', async () => {
  const { shows, origin } = await program();
  const home = homes.mesh('');
  await pass(home);
  const folder = join(home.out, 'default/secrets/a');
  const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key'), ca: join(folder, 'ca.crt') };
  const ended = new AbortController();
  onTestFinished(() => ended.abort());
  const { signal } = ended;
  const sources = [await openTrust(files.ca, { signal }), await openIdentity(files, { signal })];
  shows.text = statusMetrics(sources)();
  const record = await recordOf(home);
  const [ca] = fingerprintsIn(secret(home, 'a', 'ca.crt'));
  const said = await askMetrics({ url: origin }, { record, now: homes.now, issuers: new Map() }, clock);
  expect(said).toMatchObject({ unread: {}, proof: { anchors: [ca], issuer: ca } });
});

test('A consumer that declares a status document and metrics is held up by the one that is behind', async () => {
  const { shows, origin } = await program();
  const { shows: document, origin: place } = await program();
  const home = homes.mesh(
    `{name: two, presents: true, verifies: true, leaf: a, status: {url: "${place}/"}, metrics: {url: "${origin}/"}}`,
  );
  await pass(home);
  shows.text = pageOf(secret(home, 'a', 'ca.crt'), secret(home, 'a', 'tls.crt'));
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  await pass(home);
  homes.later(1_000_000);
  document.text = documentOf(home, 'a');
  const { plan } = await pass(home);
  expect([plan.phase, plan.blockedBy.map(({ consumer }) => consumer)]).toEqual(['Introducing', ['two']]);
});
