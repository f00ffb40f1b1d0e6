// cert-manager's own conformance suite for issuers, against an Authority.
// Against: cert-manager's controller, webhook and cainjector in pods on a real node, and the operator.
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RotationStage, setRotationStage } from '../../../packages/operator/test/rotation/stage.ts';
import { startCertManager } from './cert-manager.ts';
import { rows, runConformance } from './conformance.ts';
import { APPROVE_AUTHORITIES } from './roles.ts';

/** What fails, as measured; the cases ask for what the rules of a Leaf refuse, but for the last two. */
const NOT_SO = [
  'should issue a basic, defaulted certificate for a single Common Name',
  'should issue an ECDSA, defaulted certificate for a single Common Name',
  'should issue a certificate that defines a Common Name and URI SAN',
  'should issue a certificate that includes only a URISANs name',
  'should issue a certificate that includes arbitrary key usages',
  // A leaf begins an hour before it is issued, for clocks that run late: 897 h instead of 896 h.
  'should issue a certificate that defines a DNS Name and sets a duration',
  // It says that both certificates are not of the same key. The key is cert-manager's.
  'should issue another certificate with the same private key if the existing certificate and CertificateRequest are deleted',
];

interface Request {
  readonly status?: {
    readonly conditions?: readonly { readonly reason?: string; readonly message?: string }[];
  };
}

let stage: RotationStage;
beforeAll(async () => {
  stage = await setRotationStage({});
  await startCertManager(stage.cluster);
  await stage.cluster.apply(...APPROVE_AUTHORITIES);
  stage.startOperator();
}, 1_800_000);
afterAll(() => stage?.stop());

/** What the operator says to requests that it refuses. The suite deletes them at the end of each case. */
const watchRefusals = async (until: AbortSignal, said: Set<string>): Promise<void> => {
  while (!until.aborted) {
    const told = await stage.cluster.kubectl('get', 'certificaterequests', '-A', '-o', 'json');
    const { items } = JSON.parse(told) as { readonly items: readonly Request[] };
    for (const { status } of items)
      for (const { reason, message = '' } of status?.conditions ?? [])
        if (reason === 'Failed') said.add(message);
    await setTimeout(500);
  }
};

test('the suite passes 13 cases, and fails those that are known', async () => {
  const [ended, refusals] = [new AbortController(), new Set<string>()];
  const watched = watchRefusals(ended.signal, refusals);
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
  ended.abort();
  await watched;
  for (const line of refusals) process.stdout.write(`${line}\n`);
  for (const line of rows(cases)) process.stdout.write(`${line}\n`);
  const failed = cases.filter(({ state }) => state === 'failed').map(({ name }) => name);
  expect(failed.sort()).toEqual([...NOT_SO].sort());
  expect(cases.filter(({ state }) => state === 'passed').length).toBe(13);
}, 1_800_000);
