// cert-manager's own conformance suite for issuers, against their own CA Issuer: what it says of an issuer that is right.
// Against: cert-manager's controller, webhook and cainjector in pods on a real node.
import { type NodeCluster, startCluster } from '@handover/test-cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startCertManager } from './cert-manager.ts';
import { type Case, OUTDATED, rows, runConformance } from './conformance.ts';
import { caIssuer, issuer } from './objects.ts';

let cluster: NodeCluster;
beforeAll(async () => {
  cluster = await startCluster({ size: 'node' });
  await startCertManager(cluster);
}, 1_800_000);
afterAll(() => cluster?.stop());

test('the suite passes against a CA Issuer, but for what changed since its version', async () => {
  const cases = await runConformance(cluster, {
    ref: issuer('tested'),
    objects: caIssuer('', 'tested'),
  });
  for (const line of rows(cases)) process.stdout.write(`${line}\n`);
  const named = (wanted: Case['state']) =>
    cases.filter(({ state }) => state === wanted).map(({ name }) => name);
  expect(named('failed')).toEqual(OUTDATED);
  expect(named('skipped')).toEqual([expect.stringContaining('Gateway')]);
  expect(named('passed')).toHaveLength(24);
});
