import { z } from 'zod';
import { INJECTABLE_KINDS } from '../contract/injectable.ts';
import { dataKey, exactlyOne, fields, labelSelector, objectName, reference, text } from './fields.ts';
import { clusterMetadata, frame } from './metadata.ts';
import { bundleOutputs } from './outputs.ts';
import { bundleReload } from './reload.ts';

const dataSource = (what: string) =>
  exactlyOne(
    fields({
      name: objectName().optional().describe(`Name of the ${what} in the trust namespace.`),
      selector: labelSelector()
        .optional()
        .describe(
          `Every ${what} of the trust namespace with these labels, except those that Handover writes. In Kubernetes only.`,
        ),
      key: dataKey().prefault('ca.crt').describe('Key that holds the PEM.'),
    }),
    ['name', 'selector'],
  )
    .optional()
    .describe(`Certificates from a ${what} in the trust namespace.`);

// 190 KiB in each of 100 sources is what CEL may search; an object in etcd has no room for more anyway.
const MOST_INLINE = 196_608;

const source = exactlyOne(
  fields({
    authority: reference()
      .optional()
      .describe('All trusted CA generations of an Authority, as namespace/name.'),
    secret: dataSource('Secret'),
    configMap: dataSource('ConfigMap'),
    inline: z
      .string()
      .max(MOST_INLINE)
      .refine((pem) => !/PRIVATE KEY/.test(pem), {
        error: 'holds a private key; remove it, and replace the key if others could read it',
      })
      .refine((pem) => pem.includes('-----BEGIN CERTIFICATE-----'), {
        error: 'holds no certificate; give PEM, as a block with | in YAML',
      })
      // At the API server too: its backups hold whatever it has stored. Ten letters: the API server counts a rule's cost in steps of ten,
      // and with the P this rule would be over the limit of 10 million.
      .meta({
        'x-kubernetes-validations': [
          {
            rule: "!self.contains('RIVATE KEY')",
            message: 'holds a private key; remove it, and replace the key if others could read it',
            // Forbidden rather than invalid: an invalid value is repeated in the answer.
            reason: 'FieldValueForbidden',
          },
        ],
      })
      .optional()
      .describe('Certificates as PEM.'),
    defaultCas: z
      .boolean()
      .refine((asked) => asked, { error: 'is true or nothing; leave it out' })
      .optional()
      .describe('The CAs of the operator’s --default-cas, such as those of the system. In Kubernetes only.'),
  }),
);

const dataTarget = (what: string) =>
  fields({
    name: objectName().describe(`Name of the ${what} in each namespace.`),
    key: dataKey().prefault('ca.crt').describe('Key to write the PEM to.'),
    namespaceSelector: labelSelector().prefault({}).describe('Namespaces to write to; {} is all of them.'),
    outputs: bundleOutputs(),
  })
    .superRefine(({ key, outputs }, context) => {
      const index = outputs.findIndex(({ name }) => name === key);
      if (index < 0) return;
      context.addIssue({
        code: 'custom',
        path: ['outputs', index, 'name'],
        message: `"${key}" is the key of the PEM; choose another name`,
      });
    })
    .meta({
      'x-kubernetes-validations': [
        {
          rule: "!has(self.outputs) || !self.outputs.exists(output, output.name == (has(self.key) ? self.key : 'ca.crt'))",
          message: 'an output has the key of the PEM as its name; choose another name',
          fieldPath: '.outputs',
        },
      ],
    })
    .optional()
    .describe(`Write a ${what} in every selected namespace.`);

const inject = fields({
  kind: z.enum(INJECTABLE_KINDS).describe('Kind of the object whose caBundle is set.'),
  name: objectName().describe('Name of the object.'),
  webhooks: z
    .array(objectName())
    .min(1)
    .max(100)
    .optional()
    .describe('Names of the webhooks to set. Default: all of them.'),
})
  .superRefine(({ kind, webhooks }, context) => {
    if (webhooks === undefined || kind.endsWith('WebhookConfiguration')) return;
    context.addIssue({
      code: 'custom',
      path: ['webhooks'],
      message: `does not apply to ${kind}; leave it out`,
    });
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: "!has(self.webhooks) || self.kind.endsWith('WebhookConfiguration')",
        message: 'only applies to webhook configurations; leave it out',
        fieldPath: '.webhooks',
      },
    ],
  })
  .optional()
  .describe('Set the caBundle of an API object, and keep it up to date.');

const signerName = () =>
  text(
    /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
    317,
    'a signer name',
    'write it like example.com/mesh',
  );

// A bundle with a signer must be named after it: <signer with : for />:<rest>, refused by the API server otherwise.
const clusterTrustBundle = fields({
  name: text(
    /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[a-z0-9]([-a-z0-9.]*[a-z0-9])?)*$/,
    253,
    'a name for a ClusterTrustBundle',
    'use lower-case letters, digits, -, . and :',
  ).describe('Name of the ClusterTrustBundle.'),
  signerName: signerName().optional().describe('Signer that the ClusterTrustBundle belongs to.'),
})
  .superRefine(({ name, signerName }, context) => {
    const prefix = signerName === undefined ? '' : `${signerName.replace('/', ':')}:`;
    const good = signerName === undefined ? !name.includes(':') : name.startsWith(prefix);
    if (good) return;
    const advice =
      signerName === undefined ? 'has a colon but no signerName; add it' : `must begin with ${prefix}`;
    context.addIssue({ code: 'custom', path: ['name'], message: `"${name}" ${advice}` });
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: "has(self.signerName) ? self.name.startsWith(self.signerName.replace('/', ':') + ':') : !self.name.contains(':')",
        message:
          'must begin with its signerName, with : for /, and then : and more; without signerName it has no colon',
        fieldPath: '.name',
      },
    ],
  })
  .optional()
  .describe('Write a ClusterTrustBundle.');

const target = exactlyOne(
  fields({
    configMap: dataTarget('ConfigMap'),
    secret: dataTarget('Secret'),
    clusterTrustBundle,
    inject,
  }),
);

const spec = fields({
  sources: z
    .array(source)
    .min(1)
    .max(100)
    .describe('Where the certificates come from. Each entry has exactly one field.'),
  targets: z
    .array(target)
    .min(1)
    .max(100)
    .describe('Where the bundle is written. Each entry has exactly one field.'),
  reload: bundleReload().optional(),
}).describe('Where certificates come from, and where the bundle is written.');

export const trustBundleSchema = fields({
  ...frame('TrustBundle'),
  metadata: clusterMetadata,
  spec,
}).transform(({ apiVersion, kind, metadata, spec }) => ({ apiVersion, kind, metadata, spec }));
