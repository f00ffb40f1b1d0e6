import { parseResources, USED_BY } from '@handover/core';
import { expect, test } from 'vitest';
import { catalogueOf } from './catalogue.ts';
import { policyFor } from './responsibilities.ts';

const resource = (kind: string, name: string, annotations = {}, spec = {}) => ({
  where: 'test',
  value: {
    apiVersion: 'handover.dev/v1alpha1',
    kind,
    metadata: { name, namespace: 'prod', annotations },
    spec,
  },
});
const leaf = (name: string, word?: string) =>
  resource('Leaf', name, word === undefined ? {} : { [USED_BY]: word }, {
    authority: 'mesh',
    secretName: name,
    dnsNames: [`${name}.prod.svc`],
  });

test('a Leaf whose owner says that others use its Secret is known to the planner, and no other word counts as that', () => {
  const leaves = [leaf('web', 'others'), leaf('api', 'nobody'), leaf('db', 'Others'), leaf('mail')];
  const catalogue = catalogueOf(parseResources([resource('Authority', 'mesh'), ...leaves]));
  const facts = { consumersFound: true, cacheLag: 0, trustNamespace: 'default' } as never;
  const { policy } = policyFor(catalogue, 'prod/mesh', facts, new Map());
  expect(policy.leaves.map(({ name, usedByOthers }) => [name, usedByOthers])).toEqual([
    ['prod/web', true],
    ['prod/api', undefined],
    ['prod/db', undefined],
    ['prod/mail', undefined],
  ]);
});
