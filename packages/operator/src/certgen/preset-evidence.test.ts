// S3.7 with the preset as it is shipped: pods that are annotated are asked, and time does not stand in for them.
// Against: the small API server, and mTLS servers in this process.
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { type CertgenResult, envoyGateway, type RotationAhead } from '@handover/engine';
import { deployments, type Kube, type KubeObject, pods, replicaSets, secrets } from '@handover/kube';
import { instant, minute, parseCertificates } from '@handover/material';
import { apiServer, type FakeApiServer, TestClock } from '@handover/test-api-server';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { Addresses } from '../workloads/addresses.ts';
import { openCertgen } from './certgen.ts';

const NAMESPACE = 'envoy-gateway-system';
const { resources } = envoyGateway(NAMESPACE, { topologyInjector: false });
const RELOAD_WITHIN = 3 * minute;
let server: FakeApiServer;
let kube: Kube;
let clock: TestClock;
let end: AbortController;
beforeEach(async () => {
  // Servers judge certificates by real time, and a canary lives for minutes: the test's clock goes from three minutes before to three after.
  clock = new TestClock(instant(Date.now() - RELOAD_WITHIN));
  ({ server, kube, stop: end } = await apiServer({ namespaces: [NAMESPACE], clock }));
});

const writes = (): number => server.requests.filter(({ method }) => method !== 'GET').length;

interface Ran {
  readonly result: CertgenResult;
  readonly began: readonly RotationAhead[];
}

/** A run in a process of its own. */
const run = async (rotationId?: string): Promise<Ran> => {
  const began: RotationAhead[] = [];
  const before = writes();
  const work = async (): Promise<CertgenResult> => {
    const home = await openCertgen({
      kube,
      namespace: NAMESPACE,
      resources,
      takesOver: rotationId !== undefined,
      // A test has loopback alone.
      addresses: new Addresses([], []),
      signal: end.signal,
    });
    const [result] = await home.run({
      overwrite: false,
      rotationId,
      onBegin: (ahead) => {
        expect(writes()).toBe(before);
        began.push(ahead);
      },
    });
    if (result === undefined) throw new Error('no Authority');
    return result;
  };
  return { result: await clock.during(work()), began };
};

const text = async (name: string, key: string): Promise<string> =>
  Buffer.from(
    (await kube.get(secrets, { namespace: NAMESPACE, name }))?.data?.[key] ?? '',
    'base64',
  ).toString();
const generations = async (): Promise<number> =>
  parseCertificates(await text('envoy', 'ca.crt')).certificates.length;

/**
 * As Envoy Gateway's xDS port: TLS 1.3 alone, and gRPC in Go, which closes a connection without ALPN when the handshake is over. It has
 * the files of a Secret as they were when it last loaded them.
 */
class MtlsServer {
  readonly #server: Server;
  readonly #secret: string;

  private constructor(server: Server, secret: string) {
    this.#server = server;
    this.#secret = secret;
  }

  static async start(secret: string): Promise<MtlsServer> {
    const options = { requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' } as const;
    const server = createServer({ ...options, ...(await filesOf(secret)) }, (socket) => {
      socket.on('error', () => {});
      // At once, Node would end it without the tickets that it has made: seen with Node 20.
      setImmediate(() => socket.end());
    });
    server.on('tlsClientError', () => {});
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void server.close());
    return new MtlsServer(server, secret);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async reload(): Promise<void> {
    this.#server.setSecureContext({ minVersion: 'TLSv1.3', ...(await filesOf(this.#secret)) });
  }
}

const filesOf = async (secret: string) => ({
  cert: await text(secret, 'tls.crt'),
  key: await text(secret, 'tls.key'),
  ca: await text(secret, 'ca.crt'),
});

/** A Deployment with one running pod that mounts a Secret. */
const deploy = async (
  name: string,
  secretName: string,
  annotations: Readonly<Record<string, string>> = {},
): Promise<void> => {
  const owner = (apiVersion: string, kind: string) => [
    { apiVersion, kind, name, uid: `${kind}-${name}`, controller: true },
  ];
  const labels = { app: name };
  const spec = {
    containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'certs', mountPath: '/certs' }] }],
    volumes: [{ name: 'certs', secret: { secretName } }],
  };
  const template = { metadata: { labels, annotations }, spec };
  const selector = { matchLabels: labels };
  await kube.create(deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: NAMESPACE },
    spec: { replicas: 1, selector, template },
    status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
  } as KubeObject);
  await kube.create(replicaSets, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name, namespace: NAMESPACE, ownerReferences: owner('apps/v1', 'Deployment') },
    spec: { replicas: 1, selector, template },
  } as KubeObject);
  await kube.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: NAMESPACE,
      labels,
      annotations,
      ownerReferences: owner('apps/v1', 'ReplicaSet'),
    },
    spec,
  } as KubeObject);
  await kube.patch(
    pods,
    { namespace: NAMESPACE, name, subresource: 'status' },
    {
      merge: {
        status: {
          phase: 'Running',
          podIP: '127.0.0.1',
          podIPs: [{ ip: '127.0.0.1' }],
          conditions: [{ type: 'Ready', status: 'True' }],
        },
      },
    },
  );
};

const waitsOf = ({ blockedBy }: CertgenResult): Readonly<Record<string, string>> =>
  Object.fromEntries(blockedBy.map(({ consumer, waitsFor }) => [consumer, waitsFor]));

const ENVOY = `Deployment ${NAMESPACE}/envoy`;
const GATEWAY = `Deployment ${NAMESPACE}/envoy-gateway`;
const RATE_LIMIT = `Deployment ${NAMESPACE}/envoy-ratelimit`;

test('S3.7 an annotated pod is asked by a real handshake: one that does not confirm keeps the old CA, however long ago its files were written', async () => {
  await run();
  const gateway = await MtlsServer.start('envoy-gateway');
  const envoy = await MtlsServer.start('envoy');
  await deploy('envoy-gateway', 'envoy-gateway', { 'handover.dev/probe': `${gateway.port}/mtls` });
  await deploy('envoy', 'envoy', { 'handover.dev/probe': `${envoy.port}/mtls` });
  expect((await run('one')).result).toMatchObject({ phase: 'Activating', rotation: 'one' });
  expect(await generations()).toBe(2);
  await gateway.reload();
  await clock.advance(RELOAD_WITHIN + 30_000);
  // Envoy Gateway shows the new files, so that Envoy alone is left.
  const { result } = await run('one');
  expect(result.phase).toBe('Activating');
  expect(Object.keys(waitsOf(result))).toEqual([ENVOY]);
  expect(result.blockedBy.map(({ waitsFor }) => waitsFor).sort()).toEqual([
    'to load CA generation 2',
    'to load a leaf of CA generation 2',
  ]);
  await expect(run('two')).rejects.toMatchObject({
    code: 'ROTATION_WAITS',
    message: expect.stringContaining(`waiting for ${ENVOY} to load`),
  });
  expect(await generations()).toBe(2);
  await envoy.reload();
  expect((await run()).result).toMatchObject({ phase: 'Stable', blockedBy: [] });
  expect(await generations()).toBe(1);
}, 60_000);

test('S3.7 an annotated pod on whose port nothing listens keeps the old CA, and its wait says why', async () => {
  await run();
  const gateway = await MtlsServer.start('envoy-gateway');
  await deploy('envoy-gateway', 'envoy-gateway', { 'handover.dev/probe': '9/mtls' });
  await deploy('other', 'envoy-gateway', { 'handover.dev/probe': `${gateway.port}/mtls` });
  await run('one');
  await gateway.reload();
  await clock.advance(RELOAD_WITHIN + 30_000);
  const { result } = await run();
  expect(Object.keys(waitsOf(result))).toEqual([GATEWAY]);
  expect(waitsOf(result)[GATEWAY]).toContain('127.0.0.1:9 cannot be reached (ECONNREFUSED)');
  expect(await generations()).toBe(2);
}, 60_000);

test('certgen names the consumers for which time counts as evidence, and the workloads that a restart interrupts, before a rotation begins; not afterwards, and not at rest', async () => {
  expect((await run()).began).toEqual([]);
  const gateway = await MtlsServer.start('envoy-gateway');
  await deploy('envoy-gateway', 'envoy-gateway', { 'handover.dev/probe': `${gateway.port}/mtls` });
  await deploy('envoy', 'envoy');
  await deploy('envoy-ratelimit', 'envoy-rate-limit');
  expect((await run()).began).toEqual([]);
  const { result, began } = await run('one');
  expect(await generations()).toBe(2);
  const readers = (name: string): string => `readers of ${NAMESPACE}/secrets/${name}`;
  const all = { unseen: ['trust', 'leaf'], withinSeconds: 180 };
  const ahead = {
    authority: `${NAMESPACE}/envoy-gateway-ca`,
    restsOnTime: [
      { consumer: ENVOY, ...all },
      { consumer: readers('envoy'), ...all },
      { consumer: readers('envoy-gateway'), ...all },
    ],
    willInterrupt: [
      { consumer: RATE_LIMIT, why: 'it has one replica: nothing else serves while its pod is replaced' },
    ],
  };
  expect(began).toEqual([ahead]);
  expect(result).toMatchObject(ahead);
  expect((await run('one')).began).toEqual([]);
});
