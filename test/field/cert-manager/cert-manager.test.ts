// cert-manager itself: a CA Issuer issues, and a certificate is renewed when it is asked for.
// Against: cert-manager's controller, webhook and cainjector in pods on a real node.
import { X509Certificate } from 'node:crypto';
import { type NodeCluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../../packages/operator/test/cluster/stage.ts';
import { type CertManager, startCertManager } from './cert-manager.ts';
import { caIssuer, certificate, issuer } from './objects.ts';
import { APPROVE_AUTHORITIES } from './roles.ts';

const NAMESPACE = 'shop';
let cluster: NodeCluster;
let certManager: CertManager;

beforeAll(async () => {
  cluster = await startCluster({ size: 'node' });
  certManager = await startCertManager(cluster);
  await cluster.kubectl('create', 'namespace', NAMESPACE);
}, 1_800_000);
afterAll(() => cluster?.stop());

const inSecret = async (name: string, key: string): Promise<X509Certificate> => {
  const secret = JSON.parse(await cluster.kubectl('-n', NAMESPACE, 'get', 'secret', name, '-o', 'json')) as {
    readonly data: Readonly<Record<string, string>>;
  };
  return new X509Certificate(Buffer.from(secret.data[key] ?? '', 'base64'));
};

test('a CA Issuer issues to a Certificate, and a renewal gives another one from the same CA', async () => {
  await cluster.apply(...caIssuer(NAMESPACE, 'shop'), certificate(NAMESPACE, 'web', issuer('shop')));
  await certManager.issued({ namespace: NAMESPACE, name: 'web' });
  const [first, ca] = [await inSecret('web', 'tls.crt'), await inSecret('shop-ca', 'tls.crt')];
  expect(first.checkIssued(ca)).toBe(true);
  expect(first.subjectAltName).toBe('DNS:web.shop.svc');

  await certManager.renew({ namespace: NAMESPACE, name: 'web' });
  const second = await until(async () => {
    const now = await inSecret('web', 'tls.crt');
    return now.serialNumber === first.serialNumber ? undefined : now;
  }, 'a renewed certificate');
  expect(second.checkIssued(ca)).toBe(true);
});

test('a request to an issuer of others is approved once their approver has the right, and not before', async () => {
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'authorities.handover.dev' },
    spec: {
      group: 'handover.dev',
      scope: 'Namespaced',
      names: { kind: 'Authority', plural: 'authorities' },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
    },
  };
  await cluster.apply(crd);
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
  const asked = async () =>
    JSON.parse(await cluster.kubectl('-n', NAMESPACE, 'get', 'certificaterequests', '-o', 'json')).items.find(
      ({ spec }: { spec: { issuerRef: { kind: string } } }) => spec.issuerRef.kind === 'Authority',
    );
  const isApproved = async () => {
    const conditions: { type: string; status: string }[] = (await asked())?.status?.conditions ?? [];
    return conditions.some(({ type, status }) => type === 'Approved' && status === 'True');
  };
  const ours = { group: 'handover.dev', kind: 'Authority', name: 'shop' };
  await cluster.apply(certificate(NAMESPACE, 'ours', ours));
  await until(async () => asked(), 'a CertificateRequest to an Authority');
  // Their controller says in its log that the webhook refused the approval.
  await until(
    async () =>
      (await cluster.kubectl('-n', 'cert-manager', 'logs', 'deployment/cert-manager')).includes(
        'does not have permissions',
      ),
    'a refused approval',
  );
  expect(await isApproved()).toBe(false);
  await cluster.apply(...APPROVE_AUTHORITIES);
  await until(isApproved, 'an approval', 300_000);
});
