import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveTlsProfile } from '@handover/material';
import { systemClock } from '@handover/runtime/clock';
import { namespaceObject, PROGRAM, temporaryFolder } from '@handover/test-api-server';
import { type NodeCluster, noNodeBecause, startCluster } from '@handover/test-cluster';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { checkTls } from '../../src/tls-check/check.ts';
import { OFFERABLE } from '../../src/tls-check/names.ts';
import { identity } from '../tls-server.ts';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const SOON = { timeout: 240_000, interval: 500 };
/** The API server's address inside the cluster's network. */
const API_INSIDE = 6443;

const profileOf = (type: string) => resolveTlsProfile({ type }, OFFERABLE);
const configMap = (type: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'tls-profile', namespace: 'mesh' },
  data: { 'profile.json': profileOf(type).json },
});
const template = (type: string): object => ({
  metadata: {
    labels: { app: 'web' },
    annotations: { 'handover.dev/tls-profile-hash': profileOf(type).hash },
  },
  spec: {
    terminationGracePeriodSeconds: 0,
    automountServiceAccountToken: false,
    containers: [
      {
        name: 'web',
        image: 'localhost/web:1',
        imagePullPolicy: 'Never',
        ports: [{ name: 'tls', containerPort: 8443 }],
        readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1, timeoutSeconds: 10 },
        volumeMounts: [
          { name: 'profile', mountPath: '/etc/tls-profile' },
          { name: 'podinfo', mountPath: '/etc/podinfo' },
          { name: 'web', mountPath: '/etc/web' },
        ],
      },
    ],
    volumes: [
      { name: 'profile', configMap: { name: 'tls-profile' } },
      {
        name: 'podinfo',
        downwardAPI: { items: [{ path: 'annotations', fieldRef: { fieldPath: 'metadata.annotations' } }] },
      },
      { name: 'web', secret: { secretName: 'web' } },
    ],
  },
});
const deployment = (type: string, replicas: number): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'mesh' },
  spec: { replicas, selector: { matchLabels: { app: 'web' } }, template: template(type) },
});

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: {
    readonly containerStatuses?: readonly { ready: boolean; started?: boolean; restartCount: number }[];
  };
}

describe.skipIf(noNodeBecause() !== undefined)('Pods that take their TLS profile from a file', () => {
  let cluster: NodeCluster;
  const folder = temporaryFolder();

  /** Runs the built command in the cluster's network, where pods have addresses. */
  const check = (...args: readonly string[]): Promise<Ran> => {
    const kubeconfig = join(folder, 'kubeconfig');
    const inside = `https://${cluster.node.address}:${API_INSIDE}`;
    writeFileSync(kubeconfig, readFileSync(cluster.kubeconfig, 'utf8').replaceAll(cluster.url, inside));
    const [command = '', ...enter] = cluster.node.enter;
    const flags = ['--home', 'kube', '--kubeconfig', kubeconfig, '--timeout', '30s'];
    return new Promise((resolve) => {
      execFile(
        command,
        [...enter, process.execPath, PROGRAM, 'tls', 'check', ...flags, ...args],
        (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
    });
  };
  const pods = async (): Promise<readonly Pod[]> =>
    (
      JSON.parse(await cluster.kubectl('get', 'pods', '-n', 'mesh', '-l', 'app=web', '-o', 'json')) as {
        items: Pod[];
      }
    ).items;
  /** Makes the kubelet sync at once. */
  const nudge = async (word: string): Promise<void> => {
    for (const { metadata } of await pods()) {
      const patch = JSON.stringify({ metadata: { annotations: { 'handover.dev/nudge': word } } });
      const what = ['patch', 'pod', metadata.name, '-n', 'mesh', '--subresource=status', '--type=merge'];
      await cluster.kubectl(...what, '-p', patch);
    }
  };
  const stateOf = (list: readonly Pod[]) =>
    list
      .map(({ metadata: { uid }, status: { containerStatuses: [first] = [] } }) => ({
        uid,
        ready: first?.ready,
        restarts: first?.restartCount,
      }))
      .sort((a, b) => (a.uid < b.uid ? -1 : 1));

  beforeAll(async () => {
    await build({
      entryPoints: [path('./pod/web.ts')],
      outfile: join(folder, 'app/web.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      conditions: ['source'],
      external: ['undici'],
      logLevel: 'warning',
    });
    cluster = await startCluster({ size: 'node' });
    const entrypoint = ['node', '/app/web.mjs'];
    await cluster.node.loadImage({
      name: 'localhost/web:1',
      files: { '/app': join(folder, 'app') },
      entrypoint,
    });
    await cluster.apply(
      namespaceObject('mesh'),
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'web', namespace: 'mesh' },
        stringData: { 'tls.crt': identity.cert, 'tls.key': identity.key },
      },
      configMap('Intermediate'),
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'web', namespace: 'mesh' },
        spec: { selector: { app: 'web' }, ports: [{ name: 'https', port: 443, targetPort: 'tls' }] },
      },
      deployment('Intermediate', 2),
    );
    await cluster.kubectl('rollout', 'status', 'deployment/web', '-n', 'mesh', '--timeout=240s');
  });
  afterAll(() => cluster?.stop());

  test('the API server, a Go program, is checked like any other server, and asks for client certificates', async () => {
    const { hostname, port } = new URL(cluster.url);
    const checked = await checkTls(
      { host: hostname, port: Number(port) },
      { profile: profileOf('Intermediate').profile, otherGroups: 'remark' },
      { clock: systemClock, timeoutMs: 30_000 },
    );
    expect(checked.versions.map(({ outcome }) => outcome)).toEqual([
      'refused',
      'refused',
      'accepted',
      'accepted',
    ]);
    expect(checked.negotiated).toMatchObject({ kind: 'done', version: 'TLS 1.3' });
    expect(checked.remarks.map(({ code }) => code)).toContain('CLIENT_CERTIFICATE');
    expect(checked.unknowns).toEqual([]);
    // not in the OpenSSL of Node 20, and still found
    expect(checked.versions[3]?.groups).toContainEqual({ name: 'X25519MLKEM768', listed: true });
  });

  test('each ready pod behind a Service is checked, by name', async () => {
    const { code, stdout, stderr } = await check('mesh/web', '--profile', 'Intermediate', '--json');
    expect([code, stderr]).toEqual([0, '']);
    const { servers } = JSON.parse(stdout) as { servers: { pod: string; servername: string }[] };
    expect(servers.map(({ pod }) => pod).sort()).toEqual(
      (await pods()).map(({ metadata }) => metadata.name).sort(),
    );
    expect(new Set(servers.map(({ servername }) => servername))).toEqual(new Set(['web.mesh.svc']));
    const modern = await check('mesh/web:443', '--profile', 'Modern');
    expect(modern.code).toBe(1);
    expect(modern.stdout.match(/mismatch: VERSION_ACCEPTED: accepts TLS 1\.2/g)).toHaveLength(2);
  });

  test('S1.12: pods serve another profile without a restart, and stay ready', async () => {
    const before = stateOf(await pods());
    await cluster.apply(configMap('Modern'));
    await nudge('modern');
    await vi.waitFor(async () => expect((await check('mesh/web', '--profile', 'Modern')).code).toBe(0), SOON);
    expect((await check('mesh/web', '--profile', 'Intermediate')).stdout).toContain('VERSION_REFUSED');
    expect(stateOf(await pods())).toEqual(before);
    expect(before).toMatchObject([
      { ready: true, restarts: 0 },
      { ready: true, restarts: 0 },
    ]);
  });

  test('S1.11: a pod is not ready until it finds the profile of its stamp', async () => {
    const { metadata, spec } = template('Old') as { metadata: object; spec: object };
    const late = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name: 'late', namespace: 'mesh' },
      spec,
    };
    await cluster.apply(late);
    const lateAddress = async (): Promise<string> =>
      cluster.kubectl('get', 'pod', 'late', '-n', 'mesh', '-o', 'jsonpath={.status.podIP}');
    await vi.waitFor(async () => expect(await lateAddress()).not.toBe(''), SOON);
    const port = await cluster.node.forward(`${await lateAddress()}:8080`);
    const ask = (): Promise<Response> => fetch(`http://127.0.0.1:${port}/`);
    await vi.waitFor(async () => expect((await ask()).status).toBe(503), SOON);
    const status = (await (await ask()).json()) as object;
    expect(status).toMatchObject({ kind: 'tls-profile', hash: profileOf('Modern').hash, ready: false });
    expect((await check('mesh/web', '--profile', 'Modern')).stderr).toBe('skipped, not ready: late\n');
    await cluster.apply(configMap('Old'));
    await nudge('old');
    await cluster.kubectl('wait', '--for=condition=Ready', 'pod/late', '-n', 'mesh', '--timeout=240s');
    expect((await ask()).status).toBe(200);
  });
});
