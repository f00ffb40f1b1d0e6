import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { configMaps, deployments, secrets, validatingWebhookConfigurations } from '@handover/kube';
import { parseBundle } from '@handover/material';
import { PROGRAM } from '@handover/test-api-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { authoritySeen, eventsOf, isStable, Kubelet, leaf, mounted, templateOf, workload } from './pods.ts';
import { resource, type Stage, setStage, until } from './stage.ts';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
let stage: Stage;
let kubelet: Kubelet;
beforeAll(async () => {
  const tsc = path('../../../../node_modules/typescript/bin/tsc');
  expect(spawnSync(process.execPath, [tsc, '-b', path('../../../cli')]).status).toBe(0);
  stage = await setStage({ controllerManager: true, installed: {} });
  stage.start('one');
  kubelet = new Kubelet(stage);
}, 300_000);
afterAll(async () => {
  kubelet.stop();
  await stage.stop();
});

const handover = async (...args: readonly string[]): Promise<{ code: number | null; text: string }> => {
  const home = ['--home', 'kube', '--kubeconfig', stage.cluster.kubeconfig];
  const child = spawn(process.execPath, [PROGRAM, ...args, ...home], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      text += String(chunk);
    });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text };
};

const decoded = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();

/** Fingerprints in every bundle and field of the authority. */
const bundles = async (leaves: readonly string[]): Promise<Readonly<Record<string, readonly string[]>>> => {
  const texts: Record<string, string> = {};
  for (const name of leaves)
    texts[name] = decoded((await stage.kube.get(secrets, { namespace: 'default', name }))?.data?.['ca.crt']);
  const trust = await stage.kube.get(configMaps, { namespace: 'default', name: 'mesh-trust' });
  texts['mesh-trust'] = trust?.data?.['ca.crt'] ?? '';
  const spread = await stage.kube.get(configMaps, { namespace: 'elsewhere', name: 'spread' });
  texts.spread = spread?.data?.['ca.crt'] ?? '';
  const found = (await stage.kube.get(validatingWebhookConfigurations, { name: 'check' })) as unknown as {
    webhooks: readonly { clientConfig: { caBundle?: string } }[];
  };
  texts.check = decoded(found.webhooks[0]?.clientConfig.caBundle);
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      text === '' ? [] : parseBundle(text).certificates.map(({ fingerprint }) => fingerprint),
    ]),
  );
};

test('a distrusted CA leaves every bundle and field at once, leaves are reissued, and the distrust ends once every consumer has shown it', async () => {
  const leaves = ['env', 'hot', 'silent'];
  await stage.cluster.kubectl('create', 'namespace', 'elsewhere');
  const clientConfig = { service: { name: 'hook', namespace: 'default', path: '/' } };
  await stage.cluster.apply(
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'check' },
      webhooks: [
        { name: 'a.example.com', clientConfig, admissionReviewVersions: ['v1'], sideEffects: 'None' },
      ],
    },
    resource('Authority', 'mesh', { rotation: { reloadWithin: '3s' } }),
    ...leaves.map((name) => leaf(name)),
    resource('TrustBundle', 'all', {
      sources: [{ authority: 'default/mesh' }],
      targets: [
        {
          configMap: {
            name: 'spread',
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'elsewhere' } },
          },
        },
        { inject: { kind: 'ValidatingWebhookConfiguration', name: 'check' } },
      ],
    }),
  );
  await stage.cluster.kubectl(
    'wait',
    '--for=condition=Ready',
    'trustbundle/all',
    ...leaves.map((name) => `leaf/${name}`),
    '--timeout=60s',
  );
  await stage.cluster.apply(
    workload('env'),
    workload('hot', { pod: mounted('hot'), annotations: { 'handover.dev/reload': 'hot' } }),
    workload('silent', { pod: mounted('silent') }),
  );
  await until(async () => kubelet.seen.size === 6, 'six pods');
  const old = (await authoritySeen(stage, 'mesh')).generations?.[0]?.fingerprint ?? '';
  for (const held of Object.values(await bundles(leaves))) expect(held).toEqual([old]);
  const before = new Map<string, string>();
  for (const name of leaves)
    before.set(
      name,
      (await stage.kube.get(secrets, { namespace: 'default', name }))?.data?.['tls.crt'] ?? '',
    );

  // Without --yes nothing happens; the command prints which consumers would fail.
  await until(
    async () =>
      (await handover('distrust', 'default/mesh', '--generation', '1')).text.includes(
        'Deployment default/env',
      ),
    'the operator to have told of its consumers',
  );
  const asked = await handover('distrust', 'default/mesh', '--generation', '1');
  console.log(asked.text);
  expect(asked.code).toBe(0);
  for (const name of leaves) expect(asked.text).toContain(`Deployment default/${name}`);
  expect(asked.text).toMatch(/default\/secrets\/\w+ would refuse default\/secrets\/\w+[^:]*: /);
  expect(asked.text).toContain('Deployment default/env, which loads them when it is restarted');
  expect(asked.text).toContain('nothing was changed; add --yes to distrust CA generation');
  expect((await authoritySeen(stage, 'mesh')).generations).toHaveLength(1);
  for (const held of Object.values(await bundles(leaves))) expect(held).toEqual([old]);

  const done = await handover('distrust', 'default/mesh', '--generation', '1', '--yes');
  console.log(done.text);
  expect(done).toMatchObject({
    code: 0,
    text: expect.stringContaining('generation 1 of default/mesh is distrusted'),
  });
  await until(async () => {
    const now = Object.values(await bundles(leaves));
    return now.every((held) => held.length > 0 && !held.includes(old));
  }, 'every bundle and field without it');
  for (const name of leaves) {
    const now = (await stage.kube.get(secrets, { namespace: 'default', name }))?.data?.['tls.crt'];
    expect([name, now === before.get(name)]).toEqual([name, false]);
  }
  // The restart-only workload is rolled; the silent one blocks the end, and is named.
  await until(
    async () => {
      const { blockedBy = [] } = await authoritySeen(stage, 'mesh');
      const names = new Set(blockedBy.map(({ consumer }) => consumer));
      return names.size === 1 && names.has('Deployment default/silent');
    },
    'only the silent one to be waited for',
    120_000,
  );
  expect((await authoritySeen(stage, 'mesh')).generations).toMatchObject([
    { generation: 2, role: 'current' },
    { generation: 1, role: 'distrusted' },
  ]);
  expect(kubelet.made('env')).toBe(4);
  expect((await templateOf(stage, deployments, 'env'))['handover.dev/trust-hash']).toMatch(
    /^default\/mesh=2\.1\.2-/,
  );
  expect(kubelet.made('silent')).toBe(2);
  await stage.cluster.kubectl('rollout', 'restart', 'deployment/silent');
  await until(isStable(stage, 'mesh', 2), 'the distrust to be over', 120_000);
  expect([kubelet.made('env'), kubelet.made('hot')]).toEqual([4, 2]);
  const reasons = (await eventsOf(stage, 'Authority', 'mesh')).map(({ reason }) => reason);
  for (const reason of ['GenerationDistrusted', 'RolloutStarted', 'RolloutEnded', 'DistrustDone'])
    expect(reasons).toContain(reason);
}, 600_000);
