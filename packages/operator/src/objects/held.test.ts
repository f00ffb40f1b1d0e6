import { expect, test } from 'vitest';
import { heldOf } from './held.ts';

const apiService = (managedFields: readonly object[]) =>
  heldOf('apiservices', {
    metadata: { name: 'x', managedFields },
    spec: { service: { name: 'y' }, caBundle: 'Cg==' },
  });
const sets = (manager: string, field: string, time: string) => ({
  manager,
  operation: 'Update' as const,
  time,
  fieldsV1: { 'f:spec': { [`f:${field}`]: {} } },
});

test('who set the field is blamed, not who edited beside it later', () => {
  const held = apiService([
    sets('handover', 'group', '2030-01-01T00:00:00Z'),
    sets('old-pod', 'caBundle', '2030-01-01T00:00:01Z'),
    sets('tuner', 'versionPriority', '2030-01-01T00:00:09Z'),
  ]);
  expect(held.lastForeign).toBe('old-pod');
});

test('of two who set it the later one is blamed; whoever wrote only status never', () => {
  const held = apiService([
    sets('second', 'caBundle', '2030-01-01T00:00:05Z'),
    sets('first', 'caBundle', '2030-01-01T00:00:01Z'),
    { ...sets('kube-apiserver', 'caBundle', '2030-01-01T00:00:09Z'), subresource: 'status' },
  ]);
  expect(held.lastForeign).toBe('second');
});

test('where nobody has the field it was taken out: the last one of all is named', () => {
  expect(apiService([sets('installer', 'group', '2030-01-01T00:00:05Z')]).lastForeign).toBe('installer');
  expect(apiService([]).lastForeign).toBeUndefined();
});
