import { readFileSync } from 'node:fs';
import { codeOf } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { Place } from '../../test/place.ts';
import type { ExecConfig } from './config.ts';
import { ExecPlugin } from './exec-plugin.ts';

const API = 'client.authentication.k8s.io/v1';
let place: Place;
let now: number;
beforeEach(() => {
  place = new Place();
  now = Date.parse('2026-01-01T00:00:00Z');
});

/** A plugin that counts its runs and prints what the script makes. */
const plugin = (script: string, more: Partial<ExecConfig> = {}) => {
  const path = place.write(
    'plugin.mjs',
    `import { appendFileSync } from 'node:fs';
appendFileSync(process.env.RUNS, 'x');
const runs = (await import('node:fs')).readFileSync(process.env.RUNS, 'utf8').length;
const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
const say = (status, apiVersion = '${API}') => console.log(JSON.stringify({ apiVersion, kind: 'ExecCredential', status }));
${script}`,
  );
  place.write('runs', '');
  const config: ExecConfig = {
    apiVersion: API,
    command: process.execPath,
    args: [path],
    env: () => ({ RUNS: place.path('runs'), PATH: process.env.PATH ?? '' }),
    ...more,
  };
  return new ExecPlugin(config, () => now);
};
const runs = () => readFileSync(place.path('runs'), 'utf8').length;

test('a credential plugin runs once for all waiting requests, and again when the credential has expired', async () => {
  const it = plugin(`say({ token: 'token-' + runs, expirationTimestamp: '2026-01-01T00:01:00Z' });`);
  const all = await Promise.all(Array.from({ length: 10 }, () => it.credential()));
  expect(new Set(all.map(({ token }) => token?.reveal()))).toEqual(new Set(['token-1']));
  expect(runs()).toBe(1);
  now += 45_000;
  expect((await it.credential()).token?.reveal()).toBe('token-1');
  now += 10_000; // within the margin before its end
  expect((await it.credential()).token?.reveal()).toBe('token-2');
});

test('a credential plugin runs again after a refused credential, but not again at once', async () => {
  const it = plugin(`say({ token: 'token-' + runs });`);
  await it.credential();
  expect(it.forget()).toBe(false);
  now += 2_000;
  expect(it.forget()).toBe(true);
  expect((await it.credential()).token?.reveal()).toBe('token-2');
});

test('a credential plugin learns about the cluster when it asks, and may return a certificate', async () => {
  const it = plugin(`say({ clientCertificateData: info.spec.cluster.server, clientKeyData: 'key' });`, {
    cluster: { server: 'https://api.test' },
  });
  expect((await it.credential()).certificate).toEqual({ cert: 'https://api.test', key: 'key' });
});

test.each([
  ['exits badly', 'process.exit(3);', {}],
  ['writes no JSON', `console.log('very-secret');`, {}],
  ['writes another kind', `console.log('{"kind":"Pod"}');`, {}],
  ['writes no credential', 'say({});', {}],
  ['writes another version', `say({ token: 'very-secret' }, 'client.authentication.k8s.io/v1beta1');`, {}],
  [
    'writes without end',
    `const { writeSync } = await import('node:fs'); for (;;) writeSync(1, 'very-secret'.repeat(1000));`,
    {},
  ],
  ['takes too long', 'setTimeout(() => {}, 60000);', { timeout: 300 }],
])('a credential plugin that %s is an error that quotes nothing of it', async (_, script, more) => {
  const failed = plugin(script, more).credential();
  expect(await codeOf(failed)).toBe('KUBECONFIG_EXEC_FAILED');
  await failed.catch((error: Error) => expect(error.message).not.toContain('very-secret'));
});

test('a credential plugin that is not installed: the error has its install hint', async () => {
  const it = plugin('', { command: place.path('none'), installHint: 'get it\n from here' });
  await expect(it.credential()).rejects.toMatchObject({
    message: expect.stringContaining('get it from here'),
  });
});

test('a credential plugin does not hold up a request whose signal aborts', async () => {
  const it = plugin('setTimeout(() => {}, 60000);', { timeout: 1_000 });
  expect(await codeOf(it.credential(AbortSignal.timeout(50)))).toBe('KUBE_ABORTED');
});
