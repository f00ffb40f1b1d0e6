// cert-manager's own conformance suite for issuers, against an Authority.
// Against: cert-manager's controller, webhook and cainjector in pods on a real node, and the operator.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RotationStage, setRotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import { startCertManager } from './cert-manager.ts';
import { rows, runConformance } from './conformance.ts';
import { APPROVE_AUTHORITIES } from './roles.ts';

let stage: RotationStage;
beforeAll(async () => {
  stage = await setRotationStage({});
  await startCertManager(stage.cluster);
  await stage.cluster.apply(...APPROVE_AUTHORITIES);
  stage.startOperator();
}, 1_800_000);
afterAll(() => stage?.stop());

test('the suite passes, but for what an Authority does not offer', async () => {
  const cases = await runConformance(stage.cluster, {
    ref: { group: 'handover.dev', kind: 'Authority', name: 'tested' },
    objects: [
      {
        apiVersion: 'handover.dev/v1alpha1',
        kind: 'Authority',
        metadata: { name: 'tested' },
        spec: {},
      },
    ],
    unsupported: ['EmailSANs', 'Ed25519', 'IssueCA', 'LiteralCertificateSubject'],
  });
  for (const line of rows(cases)) process.stdout.write(`${line}\n`);
  expect(cases.filter(({ state }) => state === 'failed').map(({ name }) => name)).toEqual([]);
  expect(cases.filter(({ state }) => state === 'passed').length).toBeGreaterThanOrEqual(15);
}, 1_800_000);
