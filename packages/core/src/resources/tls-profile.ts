import { z } from 'zod';
import { fields, labelSelector, objectName, text } from './fields.ts';
import { frame, namespacedMetadata } from './metadata.ts';

const word = (what: string, hint: string) => text(/^[A-Za-z0-9_-]+$/, 64, what, hint);

const custom = fields({
  ciphers: z
    .array(word('a cipher', 'use OpenSSL names, such as ECDHE-RSA-AES128-GCM-SHA256'))
    .max(64)
    .default([])
    .describe('Cipher suites by their OpenSSL names, best first.'),
  minTLSVersion: z
    .enum(['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'])
    .default('VersionTLS12')
    .describe('Lowest TLS version to accept.'),
  groups: z
    .array(word('a group', 'use names such as X25519 or secp256r1'))
    .max(32)
    .default([])
    .describe('Key exchange groups, best first. Default: those of Intermediate.'),
}).describe('The settings of type Custom.');

const spec = fields({
  type: z
    .enum(['Old', 'Intermediate', 'Modern', 'Custom', 'OpenShift'])
    .default('Intermediate')
    .describe('Name of the profile. OpenShift follows the cluster: the object APIServer/cluster.'),
  custom: custom.optional(),
  configMapName: objectName().optional().describe('ConfigMap to write the profile to. Default: <name>.'),
  workloadSelector: labelSelector()
    .optional()
    .describe(
      'Workloads that are restarted when the profile changes, if their pod templates mount the ConfigMap; {} is all that mount it. Default: none.',
    ),
})
  .superRefine(({ type, custom }, context) => {
    const refuse = (message: string) => context.addIssue({ code: 'custom', path: ['custom'], message });
    if (type === 'Custom' && custom === undefined)
      refuse('is missing; type Custom needs ciphers and minTLSVersion');
    if (type !== 'Custom' && custom !== undefined)
      refuse(`is only allowed with type: Custom, not ${type}; remove one of them`);
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: "(has(self.type) && self.type == 'Custom') == has(self.custom)",
        message: 'is required with type: Custom, and only allowed there',
        fieldPath: '.custom',
      },
    ],
  });

export const tlsProfileSchema = fields({
  ...frame('TLSProfile'),
  metadata: namespacedMetadata,
  spec: spec
    .prefault({})
    .describe('Which TLS settings, where they are written, and which workloads are restarted for them.'),
}).transform(({ apiVersion, kind, metadata, spec }) => ({
  apiVersion,
  kind,
  metadata,
  spec: { ...spec, configMapName: spec.configMapName ?? metadata.name },
}));
