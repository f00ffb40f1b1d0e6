import { expect, test } from 'vitest';
import { projectObject } from './projection.ts';

const apiService = (managedFields: readonly object[]) =>
  projectObject('apiservices', {
    metadata: { name: 'x', managedFields },
    spec: { service: { name: 'y' }, caBundle: 'Cg==' },
  });
const sets = (manager: string, field: string, time: string) => ({
  manager,
  operation: 'Update' as const,
  time,
  fieldsV1: { 'f:spec': { [`f:${field}`]: {} } },
});

test('the manager that set a caBundle is blamed, not a later manager of other fields', () => {
  const held = apiService([
    sets('handover', 'group', '2030-01-01T00:00:00Z'),
    sets('old-pod', 'caBundle', '2030-01-01T00:00:01Z'),
    sets('tuner', 'versionPriority', '2030-01-01T00:00:09Z'),
  ]);
  expect(held.lastForeign).toBe('old-pod');
});

test('the later of two managers of a caBundle is named, and never a manager of status only', () => {
  const held = apiService([
    sets('second', 'caBundle', '2030-01-01T00:00:05Z'),
    sets('first', 'caBundle', '2030-01-01T00:00:01Z'),
    { ...sets('kube-apiserver', 'caBundle', '2030-01-01T00:00:09Z'), subresource: 'status' },
  ]);
  expect(held.lastForeign).toBe('second');
});

test('a caBundle without a manager was removed, and the last manager of the object is named', () => {
  expect(apiService([sets('installer', 'group', '2030-01-01T00:00:05Z')]).lastForeign).toBe('installer');
  expect(apiService([]).lastForeign).toBeUndefined();
});
