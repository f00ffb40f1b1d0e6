// Envoy (BoringSSL) in pods on a real node, with Secrets of the operator, through rotations under load.
// Against: Envoy (BoringSSL) in pods on a real node.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resource } from '../../../packages/operator/test/cluster/stage.ts';
import { type RotationStage, setRotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import { envoyVersion } from '../src/envoy.ts';
import { expectNoneFailed, PodTraffic } from '../src/pod-traffic.ts';
import { loadEnvoy } from './image.ts';
import { type EnvoyPart, envoyPart, mtlsAddress, type NodePart, nodePart, through } from './pods.ts';

const NAMESPACE = 'field';
/** Calls per second of each Node pod, over all its directions. */
const RATE = 24;
const LEAST = { each: 0.5, inAll: 8 };
const NAMES = ['envoy-a', 'envoy-b', 'hot', 'late'] as const;
type Name = (typeof NAMES)[number];
const addressOf = (name: Name): string => `10.96.0.${60 + NAMES.indexOf(name)}`;
const targetOf = (name: Name) => ({
  name,
  address: `${addressOf(name)}:8443`,
  servername: `${name}.field.svc`,
});

let stage: RotationStage;
beforeAll(async () => {
  stage = await setRotationStage();
});
afterAll(() => stage?.stop());

const parts = (envoyImage: string): readonly object[] => {
  const base = (name: Name) => ({ namespace: NAMESPACE, name, address: addressOf(name), secret: name });
  const probed = { 'handover.dev/reload': 'hot', 'handover.dev/probe': '8443/mtls' };
  const envoy = (name: 'envoy-a' | 'envoy-b'): EnvoyPart => ({
    ...base(name),
    image: envoyImage,
    annotations: probed,
    watching: name === 'envoy-a' ? 'directory' : 'files',
    upstreams: NAMES.filter((other) => other !== name).map(targetOf),
  });
  const envoys = [envoy('envoy-a'), envoy('envoy-b')];
  const common = { rate: RATE, collector: stage.collectorUrl };
  const targets = envoys.map((one) => targetOf(one.name as Name));
  const hot: NodePart = {
    ...base('hot'),
    image: stage.image,
    annotations: { 'handover.dev/ack-port': '8081' },
    setting: { ...common, manner: 'hot', ack: true, targets, through: envoys.flatMap(through) },
  };
  const late: NodePart = {
    ...base('late'),
    image: stage.image,
    annotations: probed,
    setting: { ...common, rate: 6, manner: 'polling', delay: 10, targets },
  };
  expect(envoys.map(mtlsAddress)).toEqual(targets.map(({ address }) => address));
  return [...envoys.flatMap(envoyPart), ...nodePart(hot), ...nodePart(late)];
};

/** `hot → envoy-a → late`: asked for by pod hot, the handshake is Envoy's. */
const DIRECTIONS: readonly string[] = [
  ...['hot', 'late'].flatMap((from) => ['envoy-a', 'envoy-b'].map((to) => `${from} → ${to}`)),
  ...['envoy-a', 'envoy-b'].flatMap((from) =>
    NAMES.filter((to) => to !== from).map((to) => `hot → ${from} → ${to}`),
  ),
];

test('S3.6 Envoy as mTLS server and client in pods on a real node: three rotations under load, 0 failed', async () => {
  const { cluster } = stage;
  const image = await loadEnvoy(cluster);
  await cluster.kubectl('create', 'namespace', NAMESPACE);
  const operator = stage.startOperator();
  await cluster.apply(resource('Authority', 'field', {}, NAMESPACE));
  for (const name of NAMES) {
    const spec = { authority: 'field', dnsNames: [`${name}.field.svc`], usages: ['server', 'client'] };
    await cluster.apply(resource('Leaf', name, { ...spec, secretName: name }, NAMESPACE));
  }
  await cluster.apply(...parts(image));
  for (const name of NAMES)
    await cluster.kubectl('rollout', 'status', `deployment/${name}`, '-n', NAMESPACE, '--timeout=300s');
  const traffic = new PodTraffic(stage, DIRECTIONS);
  await traffic.start();
  const restarts = () =>
    cluster.kubectl('get', 'pods', '-n', NAMESPACE, '-o', 'jsonpath={.items[*].metadata.uid}');
  const pods = await restarts();
  for (const rotation of [1, 2, 3]) {
    const what = `Envoy ${envoyVersion()}, pods, rotation ${rotation}`;
    const figures = await traffic.during(what, async () => {
      const wait = ['--home', 'kube', '--wait', '--timeout', '14m'];
      await stage.handover('rotate', 'field/field', '--id', `r${rotation}`, ...wait);
    });
    expectNoneFailed(figures, LEAST);
    expect(Object.keys(figures.directions).sort()).toEqual([...DIRECTIONS].sort());
  }
  const told = await stage.handover('status', 'field/field', '--home', 'kube', '--json');
  const [authority] = JSON.parse(told).authorities;
  expect(authority).toMatchObject({ phase: 'Stable', generations: [{ generation: 4 }] });
  const evidence = (authority.consumers as { name: string; evidence?: string }[])
    .filter(({ name }) => name.includes('envoy'))
    .map((one) => one.evidence);
  expect(evidence).toEqual(['probed', 'probed']);
  // Not one of them was restarted for it.
  expect(await restarts()).toBe(pods);
  await operator.stop();
});
