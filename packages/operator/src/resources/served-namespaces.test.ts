import { API_VERSION, parseResource, type Resource } from '@handover/core';
import { expect, test } from 'vitest';
import { servedNamespaces } from './served-namespaces.ts';

const resource = (kind: string, spec: object, namespace?: string): Resource =>
  parseResource(
    {
      apiVersion: API_VERSION,
      kind,
      metadata: { name: 'mesh', ...(namespace === undefined ? {} : { namespace }) },
      spec,
    },
    kind,
  );
const namespaces = new Map(['prod', 'team', 'stranger', 'web'].map((name) => [name, { team: name }]));
const selecting = (team: string) => ({ matchLabels: { team } });

test('an Authority serves its own namespace and those it issues to, a TrustBundle those that it is written to; a Leaf alone makes none served', () => {
  const served = servedNamespaces(
    [
      resource('Authority', { issueTo: { namespaceSelector: selecting('team') } }, 'prod'),
      resource('Leaf', { authority: 'prod/mesh', secretName: 'x', dnsNames: ['x'] }, 'stranger'),
      resource('TrustBundle', {
        sources: [{ authority: 'prod/mesh' }],
        targets: [{ configMap: { name: 'ca', namespaceSelector: selecting('web') } }],
      }),
    ],
    namespaces,
    ['handover-system'],
  );
  expect([...served].sort()).toEqual(['handover-system', 'prod', 'team', 'web']);
});
