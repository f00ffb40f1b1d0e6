import { X509Certificate } from 'node:crypto';
import { secrets, configMaps } from '@handover/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setStage, type Stage, until } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
}, 120_000);
afterAll(() => stage.stop());

const authority = (name: string, spec: object = {}) => ({
  apiVersion: 'handover.dev/v1alpha1',
  kind: 'Authority',
  metadata: { name, namespace: 'default' },
  spec,
});
const leaf = (name: string, spec: object) => ({
  apiVersion: 'handover.dev/v1alpha1',
  kind: 'Leaf',
  metadata: { name, namespace: 'default' },
  spec: { secretName: name, dnsNames: [`${name}.default.svc`], ...spec },
});

test('an Authority and a Leaf become a Secret of the right type and a bundle, and say so in their status', async () => {
  const running = stage.start('one');
  await stage.cluster.apply(authority('mesh'), leaf('server', { authority: 'mesh' }));
  const secret = await until(() => stage.kube.get(secrets, { namespace: 'default', name: 'server' }), 'the Secret').catch((e) => { console.log(JSON.stringify(stage.events.slice(-10), (k, v) => v instanceof Error ? { m: v.message, c: (v as any).code, s: v.stack } : v, 1)); throw e; });
  expect(secret.type).toBe('kubernetes.io/tls');
  expect(secret.metadata.ownerReferences).toBeUndefined();
  const bundle = await until(() => stage.kube.get(configMaps, { namespace: 'default', name: 'mesh-trust' }), 'the bundle');
  const ca = new X509Certificate(bundle.data?.['ca.crt'] ?? '');
  const shown = new X509Certificate(Buffer.from(secret.data?.['tls.crt'] ?? '', 'base64'));
  expect(shown.checkIssued(ca)).toBe(true);
  await stage.cluster.kubectl('wait', '--for=condition=Ready', 'authority/mesh', 'leaf/server', '--timeout=30s');
  console.log(await stage.cluster.kubectl('get', 'authorities,leaves'));
  await until(async () => running.operator.waitingFor().length === 0, 'ready');
  console.log(stage.requests.map((r) => `${r.verb} ${r.resource}${r.subresource ? '/' + r.subresource : ''} ${r.namespace}/${r.name} ${r.status}`).join('\n'));
});
