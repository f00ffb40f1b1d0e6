import { parseResources } from '@handover/core';
import { type CreationDates, catalogueOf, type EvidenceSource, policyFor } from '@handover/engine';
import { instant } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { type EvidenceTools, evidenceWith } from './evidence.ts';

const AUTHORITY = {
  apiVersion: 'handover.dev/v1alpha1',
  kind: 'Authority',
  metadata: { name: 'mesh', namespace: 'prod' },
  spec: { consumers: [{ name: 'web', verifies: true, probe: { address: '10.96.0.1:443' } }] },
};

test('the API server that the operator itself talks to is not asked what it has loaded', async () => {
  const catalogue = catalogueOf(parseResources([{ value: AUTHORITY, where: 'test' }]));
  const facts = { consumersFound: true, cacheLag: 0, trustNamespace: 'default' } as never;
  const responsibilities = policyFor(catalogue, 'prod/mesh', facts, new Map());
  // Any request would fail: this client has a server's address, and nothing else.
  const kube = { config: { server: 'https://10.96.0.1:443' }, clock: new TestClock() };
  const source = evidenceWith({
    options: {
      connection: { kube, signal: new AbortController().signal },
      scope: { namespace: 'handover-system' },
      resources: {},
      consumers: {},
    },
    making: {},
    creationDates: { of: (evidence: EvidenceSource) => evidence } as CreationDates,
  } as unknown as EvidenceTools)(false);
  const record = {
    state: { generations: [], revision: 1 },
    certificates: new Map(),
    keys: new Map(),
  } as never;
  const found = await source.consumers(responsibilities, record, instant(0), {
    orphans: [],
    issuers: new Map(),
  });
  expect(JSON.stringify(found)).toContain("10.96.0.1 is the API server's own address");
});
