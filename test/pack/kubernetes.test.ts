// Against: a real API server, with both packages as they are packed.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { freePort } from '../api-server/src/free-port.ts';
import { run, start } from './src/run.ts';

const { bare } = inject('installed');
const handover = join(bare, 'node_modules/.bin/handover');
let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
  const resources = join(bare, 'install.yaml');
  const { code, stdout } = await run(bare, handover, 'install');
  expect(code).toBe(0);
  writeFileSync(resources, stdout);
  await cluster.kubectl('apply', '--server-side', '-f', resources);
});
afterAll(() => cluster.stop());

const kube = (...args: readonly string[]) => run(bare, handover, ...args, '--kubeconfig', cluster.kubeconfig);

test('operator issues a certificate, and status --home kube shows it', async () => {
  const shop = join(bare, 'shop.yaml');
  const metadata = (name: string) => `metadata: { name: ${name}, namespace: default }`;
  writeFileSync(
    shop,
    `apiVersion: handover.dev/v1alpha1
kind: Authority
${metadata('shop')}
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
${metadata('web')}
spec:
  authority: shop
  dnsNames: [web.default.svc]
`,
  );
  await cluster.kubectl('apply', '-f', shop);
  const health = ['--health-address', `127.0.0.1:${await freePort()}`];
  const operator = start(bare, handover, ['operator', ...health, '--kubeconfig', cluster.kubeconfig]);
  onTestFinished(async () => {
    operator.child.kill('SIGKILL');
    await operator.ended;
  });
  await expect
    .poll(() => cluster.kubectl('get', 'secrets', '-o', 'name'), { timeout: 60_000, interval: 500 })
    .toContain('secret/web\n');
  const { code, stdout } = await kube('status', '--home', 'kube', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    authorities: [{ namespace: 'default', name: 'shop', leaves: [{ name: 'web' }] }],
  });
});

test('certgen --home kube writes its Secrets', async () => {
  await cluster.kubectl('create', 'namespace', 'gateway');
  const made = await kube('certgen', '--preset', 'envoy-gateway', '--namespace', 'gateway', '--home', 'kube');
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/written/) });
  expect(await cluster.kubectl('get', 'secrets', '-n', 'gateway', '-o', 'name')).toContain('secret/envoy');
});

test('embed() gives a program its own certificate, and its webhook the CA', async () => {
  const webhook = join(bare, 'webhook.yaml');
  writeFileSync(
    webhook,
    `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: own }
webhooks:
  - name: own.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    clientConfig: { service: { namespace: default, name: own } }
    rules: [{ apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things] }]
`,
  );
  await cluster.kubectl('apply', '-f', webhook);
  const script = `import { embed } from 'handover';
    const own = await embed(
      {
        authority: { name: 'own' },
        leaf: { name: 'own', dnsNames: ['own.default.svc'] },
        inject: [{ kind: 'ValidatingWebhookConfiguration', name: 'own' }],
      },
      { kubeconfig: process.argv[1], signal: AbortSignal.timeout(120_000), on: () => undefined },
    );
    await own.ready;
    console.log(own.identity.status().loads);
    process.exit();`;
  const ended = await run(bare, process.execPath, '--input-type=module', '-e', script, cluster.kubeconfig);
  expect(ended).toEqual({ code: 0, stdout: '1\n', stderr: '' });
  const path = 'jsonpath={.webhooks[0].clientConfig.caBundle}';
  const field = () => cluster.kubectl('get', 'validatingwebhookconfiguration', 'own', '-o', path);
  await expect.poll(field, { timeout: 20_000 }).toMatch(/^LS0t/);
});
