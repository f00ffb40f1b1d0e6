// cert-manager's own conformance suite for issuers, against their own CA Issuer: what it says of an issuer that is right.
// Against: cert-manager's controller, webhook and cainjector in pods on a real node.
import { type NodeCluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startCertManager } from './cert-manager.ts';
import { rows, runConformance } from './conformance.ts';
import { caIssuer, issuer } from './objects.ts';

let cluster: NodeCluster;
beforeAll(async () => {
  cluster = await startCluster({ size: 'node' });
  await startCertManager(cluster);
}, 1_800_000);
afterAll(() => cluster?.stop());

/** The suite is ten minor versions older than the cert-manager here. */
const OUTDATED: readonly string[] = [];

test('the suite passes against a CA Issuer, but for what changed since its version', async () => {
  const cases = await runConformance(cluster, {
    ref: issuer('tested'),
    objects: caIssuer('', 'tested'),
    unsupported: [],
  });
  for (const line of rows(cases)) process.stdout.write(`${line}\n`);
  expect(cases.length).toBe(26);
  const failed = cases.filter(({ state }) => state === 'failed').map(({ name }) => name);
  expect(failed).toEqual(OUTDATED);
});
