// Envoy Gateway's own certgen makes the Secrets; Handover takes them over and rotates them under a real Envoy.
// Against: Envoy Gateway's certgen, and Envoy (BoringSSL) in pods.
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import type { NodeCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LEAVES, Seen, webhook } from '../../../packages/operator/test/cluster/certgen-stage.ts';
import { type RotationStage, setRotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import { envoyVersion } from '../src/envoy.ts';
import { envoyGatewayVersion, findTheirCertgen } from '../src/envoy-gateway.ts';
import { expectNoneFailed, PodTraffic } from '../src/pod-traffic.ts';
import { loadEnvoy } from './image.ts';
import { type EnvoyPart, envoyPart, type NodePart, nodePart, through } from './pods.ts';

const run = promisify(execFile);
const NAMESPACE = 'envoy-gateway-system';
const FIVE_YEARS_DAYS = 365 * 5;
/** Of each Node pod. */
const RATE = 16;
const LEAST = { each: 0.5, inAll: 8 };

let stage: RotationStage;
let cluster: NodeCluster;
let seen: Seen;
let traffic: PodTraffic;
beforeAll(async () => {
  findTheirCertgen();
  stage = await setRotationStage({}, { bare: true });
  cluster = stage.cluster;
  seen = new Seen(stage.kube, NAMESPACE);
  traffic = new PodTraffic(stage, DIRECTIONS);
  await cluster.kubectl('create', 'namespace', NAMESPACE);
  await cluster.apply(webhook(NAMESPACE));
});
afterAll(() => stage?.stop());

/** As the chart's Job runs it. */
const theirCertgen = async (...flags: readonly string[]): Promise<string> => {
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, ENVOY_GATEWAY_NAMESPACE: NAMESPACE };
  return (await run(findTheirCertgen(), [...flags], { env })).stdout;
};
const ourCertgen = (...flags: readonly string[]): Promise<string> =>
  stage.handover('certgen', '--preset', 'envoy-gateway', '--home', 'kube', ...flags);

test('S3.1 Envoy Gateway’s own certgen makes what this project takes it to make', async () => {
  await theirCertgen();
  for (const name of LEAVES) {
    const [leaf, ...more] = await seen.certificates(name, 'tls.crt');
    expect(more).toEqual([]);
    const parsed = new X509Certificate(leaf?.pem ?? '');
    expect(parsed.publicKey.asymmetricKeyType).toBe('rsa');
    expect(await seen.text(name, 'tls.key')).toMatch(/^-----BEGIN RSA PRIVATE KEY-----/);
    // No extended key usage at all.
    expect(parsed.keyUsage).toBeUndefined();
    expect(parsed.subject).toBe(name === 'envoy-gateway' ? 'CN=envoy-gateway' : 'CN=*');
    const days = (Date.parse(parsed.validTo) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(FIVE_YEARS_DAYS);
    expect((await seen.secret(name)).type).toBe('kubernetes.io/tls');
  }
  expect(await seen.caBundle()).toBe(await seen.text('envoy-gateway', 'ca.crt'));
  expect(Object.keys((await seen.secret('envoy-oidc-hmac')).data ?? {})).toEqual(['hmac-secret']);
});

const address = (last: number): string => `10.96.0.${last}`;
/** Their names in the certificates; Node takes no wildcard of two labels, Envoy does. */
const GATEWAY_TARGET = {
  name: 'envoy-gateway',
  address: `${address(71)}:8443`,
  servername: `envoy-gateway.${NAMESPACE}.svc`,
};
const RATE_LIMIT_TARGET = {
  name: 'envoy-ratelimit',
  address: `${address(72)}:8443`,
  servername: `envoy-ratelimit.${NAMESPACE}`,
};
const ENVOY_TARGET = {
  name: 'envoy',
  address: `${address(70)}:8443`,
  servername: `envoy.${NAMESPACE}`,
  anyName: true,
};
const DIRECTIONS: readonly string[] = [
  'envoy-gateway → envoy → envoy-gateway',
  'envoy-gateway → envoy → envoy-ratelimit',
  'envoy-gateway → envoy',
  'envoy-ratelimit → envoy-gateway',
  'envoy-ratelimit → envoy',
];

/** Envoy with files only (no xDS), and programs that play Envoy Gateway and Rate Limit. */
const parts = (image: string): readonly object[] => {
  const base = { namespace: NAMESPACE };
  const common = { rate: RATE, collector: stage.collectorUrl };
  const envoy: EnvoyPart = {
    ...base,
    name: 'envoy',
    address: address(70),
    secret: 'envoy',
    image,
    watching: 'files',
    upstreams: [GATEWAY_TARGET, RATE_LIMIT_TARGET],
  };
  const gateway: NodePart = {
    ...base,
    name: 'envoy-gateway',
    address: address(71),
    secret: 'envoy-gateway',
    image: stage.image,
    setting: { ...common, manner: 'polling', targets: [ENVOY_TARGET], through: through(envoy) },
  };
  const rateLimit: NodePart = {
    ...base,
    name: 'envoy-ratelimit',
    address: address(72),
    secret: 'envoy-rate-limit',
    image: stage.image,
    setting: { ...common, manner: 'frozen', targets: [GATEWAY_TARGET, ENVOY_TARGET] },
  };
  return [...envoyPart(envoy), ...nodePart(gateway), ...nodePart(rateLimit)];
};

/** No call fails while `work` runs. */
const underLoad = async (what: string, work: () => Promise<unknown>): Promise<void> => {
  const versions = `Envoy ${envoyVersion()}, Envoy Gateway ${envoyGatewayVersion()}`;
  const figures = await traffic.during(`${what}, ${versions}`, work);
  expectNoneFailed(figures, LEAST);
  expect(Object.keys(figures.directions).sort()).toEqual([...DIRECTIONS].sort());
};

test('S3.11 Secrets of Envoy Gateway’s certgen are taken over with the preset under load: 0 failed with a real Envoy', async () => {
  await cluster.apply(...parts(await loadEnvoy(cluster)));
  for (const name of ['envoy', 'envoy-gateway', 'envoy-ratelimit'])
    await cluster.kubectl('rollout', 'status', `deployment/${name}`, '-n', NAMESPACE, '--timeout=300s');
  await traffic.start();
  const hmac = await seen.text('envoy-oidc-hmac', 'hmac-secret');
  const theirs = new Map<string, string>();
  for (const name of LEAVES) theirs.set(name, await seen.text(name, 'tls.crt'));
  await underLoad('taken over', () => ourCertgen('--overwrite', '--wait', '--timeout', '14m'));
  for (const name of LEAVES) {
    expect(await seen.text(name, 'tls.crt')).not.toBe(theirs.get(name));
    expect(await seen.generations(name)).toEqual(['1']);
  }
  expect(await seen.allAccept()).toBe(true);
  expect(await seen.caBundle()).toBe(await seen.text('envoy', 'ca.crt'));
  expect(await seen.text('envoy-oidc-hmac', 'hmac-secret')).toBe(hmac);
});

test('S3.6 a rotation after the takeover: 0 failed with a real Envoy', async () => {
  await underLoad('rotated after that', () =>
    ourCertgen('--rotation-id', '2030-01', '--wait', '--timeout', '14m'),
  );
  for (const name of LEAVES) expect(await seen.generations(name)).toEqual(['2']);
});

test('S3.1 the chart’s hook, which runs certgen without --overwrite at each upgrade, then changes nothing', async () => {
  const before = await seen.versions();
  await theirCertgen();
  expect(await seen.versions()).toEqual(before);
  expect(await ourCertgen()).toMatch(/^0 objects written\n/);
});
