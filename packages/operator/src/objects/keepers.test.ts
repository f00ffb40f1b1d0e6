import type { ManagedFields } from '@handover/kube';
import { expect, test } from 'vitest';
import { conflictOf } from '../resources/injections.ts';
import { projectObject } from './projection.ts';

const webhooks = {
  'f:webhooks': { 'k:{"name":"a.example.com"}': { 'f:clientConfig': { 'f:caBundle': {} } } },
};
const held = (managedFields: readonly ManagedFields[], annotations: Readonly<Record<string, string>> = {}) =>
  projectObject('validatingwebhookconfigurations', {
    metadata: { name: 'check', annotations, managedFields },
    webhooks: [],
  });
const cainjector: ManagedFields = {
  manager: 'cert-manager-cainjector',
  operation: 'Apply',
  fieldsV1: webhooks,
};

test('the field manager of a caBundle tells which controller keeps it', () => {
  expect(held([cainjector]).keeper).toBe("cert-manager's cainjector");
  expect(held([{ manager: 'helm', operation: 'Update', fieldsV1: webhooks }]).keeper).toBeUndefined();
  expect(held([{ ...cainjector, fieldsV1: { 'f:metadata': { 'f:labels': {} } } }]).keeper).toBeUndefined();
});

test('a caBundle of another controller is left alone, unless an annotation says otherwise or Handover wrote there before', () => {
  expect(conflictOf(held([cainjector]), false)).toContain("kept by cert-manager's cainjector");
  expect(conflictOf(held([cainjector]), true)).toBeUndefined();
  expect(conflictOf(held([cainjector], { 'handover.dev/take-over': 'true' }), false)).toBeUndefined();
  const record = { digest: '', revisions: {}, anchors: [], changedAt: 0 };
  const ours = JSON.stringify({ format: 1, parts: { '': { at: 0, record } } });
  expect(conflictOf(held([cainjector], { 'handover.dev/record': ours }), false)).toBeUndefined();
});
