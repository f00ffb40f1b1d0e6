import { parseResources } from '@handover/core';
import { catalogueOf } from '@handover/engine';
import { expect, test } from 'vitest';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { WorkIndex } from './work-index.ts';

const leaf = (name: string, authority: string, dnsName: string) => ({
  kind: 'Leaf',
  metadata: { namespace: 'evil', name },
  spec: {
    authority,
    dnsNames: [dnsName],
    outputs: [{ name: 'o.jks', format: 'jks', passwordFrom: { secret: { name: `${name}-pw` } } }],
  },
});

test('Secrets and passwords of Leaves that no Authority issues concern no Authority', () => {
  const issueTo = { namespaceSelector: {} };
  const resources = [
    { kind: 'Authority', metadata: { namespace: 'prod', name: 'mesh' }, spec: { issueTo } },
    leaf('issued', 'prod/mesh', 'x.evil.svc'),
    leaf('refused', 'prod/mesh', 'x.prod.svc'),
    leaf('stray', 'prod/nobody', 'x.evil.svc'),
  ].map((value) => ({ value: { apiVersion: 'handover.dev/v1alpha1', ...value }, where: 'test' }));
  const catalogue = catalogueOf(parseResources(resources));
  const resolved: Pick<ResolvedResources, 'catalogue' | 'gates'> = { catalogue, gates: [] };
  const index = new WorkIndex(resolved, 'handover-system', false);
  const called = ['issued', 'refused', 'stray'].flatMap((name) =>
    [name, `${name}-pw`].filter((secret) => index.of('secrets', `evil/${secret}`).length > 0),
  );
  expect(called).toEqual(['issued', 'issued-pw']);
});
