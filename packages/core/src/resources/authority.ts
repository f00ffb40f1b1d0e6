import { type Duration, day, duration, minute } from '@handover/material';
import { z } from 'zod';
import { consumer } from './consumer.ts';
import { formatDuration } from './duration.ts';
import {
  dateField,
  durationField,
  exactlyOne,
  type Fraction,
  fields,
  keyField,
  objectName,
  percentField,
  text,
} from './fields.ts';
import { issueTo, nameConstraints } from './issue-to.ts';
import { frame, namespacedMetadata } from './metadata.ts';
import { trustDomain } from './name-fields.ts';
import { bundleReload } from './reload.ts';

const none = duration(0);
const year = duration(365 * day);

const RENAMED = 'is now called reloadWithin; rename the field';

const rotation = fields({
  at: percentField()
    .optional()
    .describe('Share of the lifetime after which a rotation begins. Default: 80%.'),
  before: durationField(minute, duration(100 * year))
    .optional()
    .describe('How long before the end of the CA a rotation begins. Use this or at.'),
  strategy: z
    .enum(['Phased', 'Instant'])
    .default('Phased')
    .describe(
      'Phased: distribute the new CA first, then issue leaves from it. Instant: both at once, joined by a cross-certificate.',
    ),
  reloadWithin: durationField(none, duration(30 * day))
    .prefault('3m')
    .describe('Consumers that give no evidence reload within this time.'),
  settle: z.string().max(64).optional().describe('Old name of reloadWithin. Refused.'),
  onBlocked: z
    .enum(['Wait', 'Restart', 'Proceed'])
    .default('Wait')
    .describe(
      'What to do about consumers without evidence when patience has passed: wait on, restart them, or go on without them. `Proceed` activates the new CA without them; it removes the old CA only when no leaf of it can be in use any more: each is shown to be replaced, or has expired.',
    ),
  patience: durationField(none, year).prefault('24h').describe('How long to wait before onBlocked applies.'),
  paused: z.boolean().default(false).describe('Take no further step of a rotation.'),
  maxConcurrentRollouts: z
    .int()
    .min(1)
    .max(100)
    .default(3)
    .describe('How many restart-only workloads may restart at the same time.'),
})
  .superRefine(({ at, before, settle }, context) => {
    if (settle !== undefined) context.addIssue({ code: 'custom', path: ['settle'], message: RENAMED });
    if (at === undefined || before === undefined) return;
    context.addIssue({ code: 'custom', message: 'has both at and before; give one of them' });
  })
  .transform(({ settle: _, ...value }) => ({
    ...value,
    ...(value.at === undefined && value.before === undefined ? { at: 0.8 as Fraction } : {}),
  }))
  // Behind the transform: in front of one, zod leaves it out of the JSON Schema.
  .meta({
    'x-kubernetes-validations': [
      { rule: '!(has(self.at) && has(self.before))', message: 'has both at and before; give one of them' },
      { rule: '!has(self.settle)', message: `settle ${RENAMED}` },
    ],
  });

const adopt = exactlyOne(
  fields({
    fingerprints: z
      .array(
        text(
          /^([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$/,
          95,
          'a SHA-256 fingerprint',
          'write 64 hexadecimal digits, as handover inspect shows them',
        ).transform((value) => value.replaceAll(':', '').toLowerCase()),
      )
      .min(1)
      .max(16)
      .optional()
      .describe(
        'SHA-256 fingerprints of the CA certificates to trust. The certificates are taken from objects of this namespace.',
      ),
    secret: objectName()
      .optional()
      .describe(
        'Name of a Secret in this namespace. With a CA in tls.crt and its key in tls.key, that CA becomes the first generation and signs; otherwise the CAs in ca.crt are trusted until they are replaced.',
      ),
    lastLeafEnds: dateField()
      .optional()
      .describe(
        'Day on which the last certificate ends that these CAs signed before, and that no object here shows. Until then they stay trusted after their replacement, without their key. Default: until the CA ends, for a CA with its key; without the key not at all.',
      ),
  }),
  ['fingerprints', 'secret'],
).describe(
  'Existing CAs that this Authority adopts. Without it none is trusted. Read only until the first CA generation exists.',
);

const spec = fields({
  key: keyField(),
  lifetime: durationField(minute, duration(100 * year))
    .prefault('5y')
    .describe('How long each CA generation is valid.'),
  issueTo: issueTo.prefault({}),
  adopt: adopt.optional(),
  nameConstraints: nameConstraints.optional(),
  rotation: rotation.prefault({}).describe('When and how the CA is rotated.'),
  podCertificates: fields({
    trustDomain: trustDomain()
      .default('cluster.local')
      .describe(
        'Trust domain of the SPIFFE ids: spiffe://<trust domain>/ns/<namespace>/sa/<service account>.',
      ),
  })
    .optional()
    .describe(
      'Signs PodCertificateRequests for signer handover.dev/<namespace>.<name>: a key and a certificate for each pod, with the SPIFFE id of its service account and the DNS names of its Services, as far as issueTo allows them. Absent: none are signed. Kubernetes 1.35 and later.',
    ),
  bundle: fields({
    configMapName: objectName().optional().describe('Name of the ConfigMap. Default: <name>-trust.'),
    reload: bundleReload().optional(),
  })
    .prefault({})
    .describe("The Authority's own bundle, a ConfigMap in its namespace."),
  consumers: z
    .array(consumer)
    .max(100)
    .prefault([])
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .describe('Programs that use the certificates or the bundle and are not found through pods.'),
});

/** From the start of a scheduled rotation to the end of the CA. */
const window = (
  lifetime: Duration,
  { at, before }: { at?: Fraction | undefined; before?: Duration | undefined },
): Duration => before ?? duration(Math.round(lifetime * (1 - (at ?? 0.8))));

export const authoritySchema = fields({
  ...frame('Authority'),
  metadata: namespacedMetadata,
  spec: spec
    .prefault({})
    .describe('Key and lifetime of the CA, which Leaves it may issue, and how it rotates.'),
})
  .superRefine(({ metadata, spec }, context) => {
    const refuse = (path: readonly PropertyKey[], message: string) =>
      context.addIssue({ code: 'custom', path: ['spec', ...path], message });
    const { before, reloadWithin, strategy } = spec.rotation;
    const left = window(spec.lifetime, spec.rotation);
    if (before !== undefined && before >= spec.lifetime) {
      const life = formatDuration(spec.lifetime);
      refuse(
        ['rotation', 'before'],
        `"${formatDuration(before)}" is not less than the lifetime of ${life}; lower it`,
      );
    } else if (strategy === 'Phased' && reloadWithin >= left) {
      const [wait, rest] = [formatDuration(reloadWithin), formatDuration(left)];
      refuse(
        ['rotation', 'reloadWithin'],
        `"${wait}" does not fit: a rotation begins ${rest} before the CA ends; lower reloadWithin, begin earlier, or raise lifetime`,
      );
    }
    if (spec.bundle.configMapName === undefined && metadata.name.length > 247) {
      refuse(
        ['bundle', 'configMapName'],
        'the default <name>-trust would be too long; set spec.bundle.configMapName',
      );
    }
    const seen = new Map<string, number>();
    for (const [index, { name }] of spec.consumers.entries()) {
      const first = seen.get(name);
      if (first === undefined) seen.set(name, index);
      else
        refuse(
          ['consumers', index, 'name'],
          `"${name}" is already the name of consumers[${first}]; choose another`,
        );
    }
  })
  .transform(({ apiVersion, kind, metadata, spec }) => ({
    apiVersion,
    kind,
    metadata,
    spec: {
      ...spec,
      bundle: { ...spec.bundle, configMapName: spec.bundle.configMapName ?? `${metadata.name}-trust` },
    },
  }))
  .meta({
    'x-kubernetes-validations': [
      {
        rule: 'size(self.metadata.name) <= 247 || (has(self.spec) && has(self.spec.bundle) && has(self.spec.bundle.configMapName))',
        message: 'the default <name>-trust would be too long; set spec.bundle.configMapName',
        fieldPath: '.spec.bundle.configMapName',
      },
    ],
  });
