import { codeOf } from '@handover/test-api-server';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { Place } from '../../test/place.ts';
import { Hidden } from '../hidden.ts';
import { loadKubeConfig } from './load.ts';
import { parseKubeConfig } from './parse.ts';
import { proxyFor } from './proxy.ts';

let place: Place;
beforeEach(() => {
  place = new Place();
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
const config = (cluster: object, user: object = {}, context: object = {}) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'x',
    clusters: [{ name: 'c', cluster: { server: 'https://api.test:6443', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', ...context } }],
  });
const load = (text: string, more: { context?: string; env?: Record<string, string> } = {}) =>
  loadKubeConfig({ kubeconfig: place.write('config', text), env: {}, ...more });

describe('one file', () => {
  test('a kubeconfig gives server, namespace, trust and credentials', async () => {
    const found = await load(
      config(
        {
          'certificate-authority-data': base64('CA'),
          'tls-server-name': 'kubernetes',
          'proxy-url': 'socks5://u:pass-word@p:1',
        },
        { token: 'secret-token', as: 'jane', 'as-groups': ['g'] },
        { namespace: 'prod' },
      ),
    );
    expect(found).toMatchObject({
      server: 'https://api.test:6443',
      namespace: 'prod',
      context: 'x',
      impersonate: { user: 'jane', groups: ['g'] },
      tls: { serverName: 'kubernetes' },
    });
    expect(found.auth.token?.reveal()).toBe('secret-token');
    expect(found.proxyUrl?.reveal()).toBe('socks5://u:pass-word@p:1');
    expect(JSON.stringify(found)).not.toContain('pass-word');
    expect(found.tls.ca !== undefined && 'pem' in found.tls.ca && found.tls.ca.pem.reveal()).toBe('CA');
    expect(JSON.stringify(found)).not.toContain('secret-token');
  });

  test('a kubeconfig has file names relative to its folder, and data wins over a file', async () => {
    const found = await load(
      config(
        { 'certificate-authority': 'pki/ca.crt' },
        {
          'client-certificate': '/abs/tls.crt',
          'client-key': 'tls.key',
          'client-key-data': base64('K'),
          tokenFile: 't',
        },
      ),
    );
    expect(found.tls.ca).toEqual({ file: place.path('pki/ca.crt') });
    expect(found.tls.cert).toEqual({ file: '/abs/tls.crt' });
    expect(found.tls.key).toEqual({ pem: expect.any(Hidden) });
    expect(found.auth.tokenFile).toBe(place.path('t'));
  });

  test('a kubeconfig may be YAML or JSON', async () => {
    const text = `
apiVersion: v1
kind: Config
current-context: a
clusters: [{name: c, cluster: {server: "https://h", insecure-skip-tls-verify: true}}]
contexts: [{name: a, context: {cluster: c}}]
`;
    expect(await load(text)).toMatchObject({
      server: 'https://h',
      tls: { verify: false },
      auth: {},
      namespace: 'default',
    });
  });

  test.each([
    ['a missing context', config({}), 'missing', 'KUBECONFIG_NO_CONTEXT'],
    ['no current context', '{}', undefined, 'KUBECONFIG_NO_CONTEXT'],
    ['a context without its cluster', config({}, {}, { cluster: 'z' }), undefined, 'KUBECONFIG_INCOMPLETE'],
    ['a context without its user', config({}, {}, { user: 'z' }), undefined, 'KUBECONFIG_INCOMPLETE'],
    [
      'a certificate without a key',
      config({}, { 'client-certificate': 'a' }),
      undefined,
      'KUBECONFIG_INCOMPLETE',
    ],
    [
      'a CA and no verification',
      config({ 'certificate-authority': 'a', 'insecure-skip-tls-verify': true }),
      undefined,
      'KUBECONFIG_CONTRADICTION',
    ],
    ['two logins', config({}, { token: 't', username: 'u' }), undefined, 'KUBECONFIG_CONTRADICTION'],
    [
      'an auth provider',
      config({}, { 'auth-provider': { name: 'gcp' } }),
      undefined,
      'KUBECONFIG_UNSUPPORTED',
    ],
    [
      'an old exec plugin',
      config({}, { exec: { apiVersion: 'x/v1alpha1', command: 'a' } }),
      undefined,
      'KUBECONFIG_UNSUPPORTED',
    ],
    ['a server that is no URL', config({ server: 'ftp://x' }), undefined, 'KUBECONFIG_MALFORMED'],
    ['a proxy that is no URL', config({ 'proxy-url': 'gopher://x' }), undefined, 'KUBECONFIG_MALFORMED'],
    ['no YAML', 'a: [', undefined, 'KUBECONFIG_MALFORMED'],
    ['another kind', '{"kind":"Pod"}', undefined, 'KUBECONFIG_MALFORMED'],
    ['lists that are none', '{"clusters": 3}', undefined, 'KUBECONFIG_MALFORMED'],
    ['data that is a number', config({ 'certificate-authority-data': 5 }), undefined, 'KUBECONFIG_MALFORMED'],
    ['a token that is a list', config({}, { token: ['t'] }), undefined, 'KUBECONFIG_MALFORMED'],
    [
      'groups that are one text',
      config({}, { as: 'a', 'as-groups': 'g' }),
      undefined,
      'KUBECONFIG_MALFORMED',
    ],
    [
      'extras that hold no lists',
      config({}, { as: 'a', 'as-user-extra': { a: 1 } }),
      undefined,
      'KUBECONFIG_MALFORMED',
    ],
    [
      'arguments that are one text',
      config({}, { exec: { command: 'a', args: 'b' } }),
      undefined,
      'KUBECONFIG_MALFORMED',
    ],
    [
      'an environment that is a map',
      config({}, { exec: { command: 'a', env: { A: 'b' } } }),
      undefined,
      'KUBECONFIG_MALFORMED',
    ],
    ['a namespace that is a number', config({}, {}, { namespace: 5 }), undefined, 'KUBECONFIG_MALFORMED'],
  ])('a kubeconfig with %s gets an error that says what is wrong', async (_, text, context, code) => {
    expect(await codeOf(load(text, context === undefined ? {} : { context }))).toBe(code);
  });

  test('a kubeconfig takes null for a field that is left out, as kubectl does', async () => {
    const found = await load(
      config({ 'proxy-url': null }, { token: 't', exec: null, 'auth-provider': null }),
    );
    expect(found.auth.token?.reveal()).toBe('t');
  });

  test('a fault of this program is not called a malformed file', async () => {
    await expect(parseKubeConfig(5 as unknown as string, 'config')).rejects.toThrow(TypeError);
  });

  test('a kubeconfig is not quoted when it cannot be parsed', async () => {
    const broken = load('users:\n- name: u\n  user: {token: very-secret-token\n clusters: [');
    await expect(broken).rejects.toMatchObject({ code: 'KUBECONFIG_MALFORMED' });
    await broken.catch((error: Error) => expect(error.message).not.toContain('very-secret'));
  });

  test('a kubeconfig causes no warning, which would quote it', async () => {
    const warnings: string[] = [];
    const listener = ({ message }: Error) => warnings.push(message);
    process.on('warning', listener);
    await codeOf(load('%very-secret-token\n---\n{}'));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listener);
    // Other tests share this process, and may have caused one of their own.
    expect(warnings.join()).not.toContain('very-secret');
  });

  test('a kubeconfig with any content gives a config or an error code', async () => {
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      fc.constantFrom('clusters:\n- a', 'contexts: [null]', '- 1', '&a [*a]'),
    );
    await fc.assert(
      fc.asyncProperty(text, async (content) => {
        expect(await codeOf(load(content))).toMatch(/^KUBECONFIG_[A-Z_]+$/);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a list of files', () => {
  const named = (name: string, server: string, current?: string) =>
    JSON.stringify({
      ...(current === undefined ? {} : { 'current-context': current }),
      clusters: [{ name, cluster: { server } }],
      contexts: [{ name, context: { cluster: name } }],
    });

  test('a list of kubeconfigs is merged: for each name the first file wins, and a missing file is skipped', async () => {
    const a = place.write('a', named('x', 'https://first'));
    const b = place.write('b', named('x', 'https://second', 'y'));
    const c = place.write('c', named('y', 'https://third', 'x'));
    const env = { KUBECONFIG: [a, place.path('missing'), '', b, c].join(':') };
    expect((await loadKubeConfig({ env })).server).toBe('https://third');
    expect((await loadKubeConfig({ env, context: 'x' })).server).toBe('https://first');
  });

  test('a list of kubeconfigs falls back to the home directory, then to the pod, then to an error', async () => {
    const env = { HOME: place.directory };
    const serviceAccount = place.directory;
    const there = { ...env, KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    expect(await codeOf(loadKubeConfig({ env, serviceAccount }))).toBe('KUBECONFIG_NOT_FOUND');
    expect(await codeOf(loadKubeConfig({ env: there, serviceAccount }))).toBe('KUBECONFIG_NOT_FOUND');
    place.write('token', 't');
    place.write('namespace', 'mine\n');
    expect(await loadKubeConfig({ env: there, serviceAccount })).toEqual({
      server: 'https://[fd00::1]:443',
      namespace: 'mine',
      tls: { ca: { file: place.path('ca.crt') } },
      auth: { tokenFile: place.path('token') },
    });
    expect(await codeOf(loadKubeConfig({ env, kubeconfig: place.path('none') }))).toBe(
      'KUBECONFIG_NOT_FOUND',
    );
  });
});

describe('the proxy of the environment', () => {
  const to = (server: string, env: Record<string, string>, own?: string) =>
    proxyFor(new URL(server), own, env, 'c');

  test('the proxy of the environment is the one for the scheme, unless the cluster has its own or the host is exempt', () => {
    const env = { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'a.test,.b.test,10.0.0.0/8,c.test:8443' };
    expect(to('https://api.test', env)).toBe('http://p:1/');
    expect(to('http://api.test', env)).toBeUndefined();
    expect(to('https://api.test', env, 'https://own:2')).toBe('https://own:2/');
    for (const host of [
      'a.test',
      'x.a.test',
      'x.b.test',
      '10.9.8.7',
      'c.test:8443',
      'localhost:6443',
      '127.0.0.1',
    ]) {
      expect([host, to(`https://${host}`, env)]).toEqual([host, undefined]);
    }
    for (const host of ['b.test', 'c.test:1', '11.0.0.1', 'xa.test']) {
      expect([host, to(`https://${host}`, env)]).toEqual([host, 'http://p:1/']);
    }
  });
});
