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

test('of two managers of the field the later one is named; a manager of status only never is', () => {
  const held = apiService([
    sets('second', 'caBundle', '2030-01-01T00:00:05Z'),
    sets('first', 'caBundle', '2030-01-01T00:00:01Z'),
    { ...sets('kube-apiserver', 'caBundle', '2030-01-01T00:00:09Z'), subresource: 'status' },
  ]);
  expect(held.lastForeign).toBe('second');
});

test('a field without a manager was removed: the last manager of the object is named', () => {
  expect(apiService([sets('installer', 'group', '2030-01-01T00:00:05Z')]).lastForeign).toBe('installer');
  expect(apiService([]).lastForeign).toBeUndefined();
});
