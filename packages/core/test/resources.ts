import { HandoverError } from '@handover/material';
import { expect } from 'vitest';
import { parseResource } from '../src/resources/index.ts';

export const apiVersion = 'handover.dev/v1alpha1';
export const authority = (spec: unknown = {}, metadata: unknown = { name: 'mesh' }) => ({
  apiVersion,
  kind: 'Authority',
  metadata,
  spec,
});
export const leaf = (spec: object = {}) => ({
  apiVersion,
  kind: 'Leaf',
  metadata: { name: 'envoy' },
  spec: { authority: 'mesh', dnsNames: ['envoy'], ...spec },
});
export const bundle = (spec: object = {}) => ({
  apiVersion,
  kind: 'TrustBundle',
  metadata: { name: 'all' },
  spec: { sources: [{ authority: 'mesh' }], targets: [{ configMap: { name: 'trust' } }], ...spec },
});
export const profile = (spec: object = {}) => ({
  apiVersion,
  kind: 'TLSProfile',
  metadata: { name: 'tls' },
  spec,
});

export const refusal = (value: unknown, where = 'a.yaml'): string => {
  try {
    parseResource(value, where);
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    expect(error.code).toBe('RESOURCE_INVALID');
    expect(error.path).toBe(where);
    expect(error.message).not.toContain('\n');
    return error.message;
  }
  return 'accepted';
};
