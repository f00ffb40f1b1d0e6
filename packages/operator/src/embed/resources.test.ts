import { expect, test } from 'vitest';
import { ownResources } from './resources.ts';
import type { EmbedSpec } from './spec.ts';

const spec: EmbedSpec = {
  authority: { name: 'hook', lifetime: '1y' },
  leaf: { name: 'hook-tls', dnsNames: ['hook.mine.svc'] },
  inject: [{ kind: 'ValidatingWebhookConfiguration', name: 'hook', webhooks: ['a.example.com'] }],
};

test('the options of an embedded operator become the resources that YAML would declare, in the namespace of the pod', () => {
  const { authority, leaf, bundle } = ownResources(spec, 'mine');
  expect(authority.metadata).toMatchObject({ name: 'hook', namespace: 'mine' });
  expect(authority.spec.bundle.configMapName).toBe('hook-trust');
  expect(leaf.metadata).toMatchObject({ name: 'hook-tls', namespace: 'mine' });
  expect(leaf.spec).toMatchObject({ authority: 'mine/hook', secretName: 'hook-tls', usages: ['server'] });
  expect(bundle.spec.sources).toEqual([{ authority: 'mine/hook' }]);
  expect(bundle.spec.targets).toEqual([{ inject: spec.inject[0] }]);
});

test('a namespace in the options of an embedded operator counts for its Authority and its Leaf', () => {
  const { leaf } = ownResources({ ...spec, authority: { name: 'hook', namespace: 'other' } }, 'mine');
  expect(leaf.metadata.namespace).toBe('other');
  expect(leaf.spec.authority).toBe('other/hook');
});

test('options that YAML would refuse are refused, and so is a server certificate that is injected nowhere', () => {
  const refusal = (what: object) => () => ownResources({ ...spec, ...what }, 'mine');
  expect(refusal({ authority: { name: 'Hook' } })).toThrow(
    expect.objectContaining({ code: 'RESOURCE_INVALID' }),
  );
  expect(refusal({ leaf: { name: 'hook' } })).toThrow(expect.objectContaining({ code: 'RESOURCE_INVALID' }));
  expect(refusal({ leaf: { ...spec.leaf, colour: 'red' } })).toThrow(/colour/);
  expect(refusal({ inject: [] })).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }));
});
