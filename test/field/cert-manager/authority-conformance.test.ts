// cert-manager's own conformance suite for issuers, against an Authority.
// Against: cert-manager's controller, webhook and cainjector in pods on a real node, and the operator.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RotationStage, setRotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import { startCertManager } from './cert-manager.ts';
import { OUTDATED, rows, runConformance } from './conformance.ts';
import { APPROVE_AUTHORITIES } from './roles.ts';

/** They are issued, for clients only: a common name is no host name. The suite verifies them as a server's. */
const FOR_CLIENTS = [
  'should issue a basic, defaulted certificate for a single Common Name',
  'should issue an ECDSA, defaulted certificate for a single Common Name',
  'should issue a certificate that defines a Common Name and URI SAN',
];
/** A leaf begins an hour before it is issued, for clocks that run late: 897 h from beginning to end instead of 896 h. */
const LONGER = ['should issue a certificate that defines a DNS Name and sets a duration'];

let stage: RotationStage;
beforeAll(async () => {
  stage = await setRotationStage({});
  await startCertManager(stage.cluster);
  await stage.cluster.apply(...APPROVE_AUTHORITIES);
  stage.startOperator();
}, 1_800_000);
afterAll(() => stage?.stop());

test('the suite passes 14 cases, and fails those that are known', async () => {
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
    unsupported: ['EmailSANs', 'Ed25519', 'IssueCA', 'KeyUsages', 'LiteralCertificateSubject'],
  });
  for (const line of rows(cases)) process.stdout.write(`${line}\n`);
  for (const name of FOR_CLIENTS)
    expect(cases.find((one) => one.name === name)?.why).toBe(
      'x509: certificate specifies an incompatible key usage',
    );
  const failed = cases.filter(({ state }) => state === 'failed').map(({ name }) => name);
  expect(failed.sort()).toEqual([...FOR_CLIENTS, ...LONGER, ...OUTDATED].sort());
  expect(cases.filter(({ state }) => state === 'passed').length).toBe(14);
}, 1_800_000);
