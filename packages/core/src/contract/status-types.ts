import { z } from 'zod';
import { ROLES } from '../plan/authority.ts';

// What the operator writes to the status subresource: types and CRD schemas in one.

/** Blockers or failing targets that a status names: with thousands of pods the object would not fit into etcd. */
export const MOST_NAMED = 50;

/** Sentences and steps that a status holds for people. */
export const MOST_SENTENCES = 10;

const words = (what: string, max = 1024) => z.string().max(max).describe(what);
const count = (what: string) => z.int().min(0).max(2_147_483_647).describe(what);
const generation = (what: string) => z.int().min(0).max(2_147_483_647).describe(what);
// With format: date-time, so that the API server refuses other text.
const time = (what: string) => z.string().max(64).meta({ format: 'date-time' }).describe(what);
const fingerprint = (what: string) => words(what, 128);

// The standard shape (metav1.Condition), so that `kubectl wait --for=condition=Ready` and every tool can read it.
const condition = z.strictObject({
  type: z
    .string()
    .max(316)
    .regex(/^[A-Za-z]([A-Za-z0-9]*)$/)
    .describe('What the condition is about, such as Ready.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds.'),
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe('Why, as one word for programs.'),
  message: z.string().max(32_768).describe('Why, for people: the field or object, and the remedy.'),
  lastTransitionTime: time('When status last changed.'),
  observedGeneration: generation('The metadata.generation that this condition is about.').optional(),
});

const common = {
  observedGeneration: generation('The metadata.generation that this status is about.').optional(),
  conditions: z
    .array(condition)
    .max(16)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
    .optional()
    .describe('Whether the resource works, and why not.'),
};

const authority = z.strictObject({
  phase: z
    .enum(['Pending', 'Stable', 'Introducing', 'Activating', 'Retiring'])
    .optional()
    .describe('Phase of the rotation.'),
  generations: z
    .array(
      z.strictObject({
        generation: generation('Number of the CA generation.'),
        role: z
          .enum(ROLES)
          .describe(
            'next is trusted and does not sign yet; current signs; previous no longer signs and is still trusted; retained is trusted for leaves that may still be in use, and its key is destroyed; distrusted is in no bundle.',
          ),
        fingerprint: fingerprint('SHA-256 of the CA certificate.'),
        notBefore: time('From when it is valid.'),
        notAfter: time('Until when it is valid.'),
        trustedUntil: time('Of a retained one: when it leaves the bundles at the latest.').optional(),
        trustedFor: z
          .array(words('Workload that may still use a leaf of it, and why.'))
          .max(MOST_NAMED + 1)
          .optional()
          .describe('Of a retained one: what it stays trusted for.'),
      }),
    )
    .max(32)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['generation'] })
    .optional()
    .describe('CA generations of this authority.'),
  bundleHash: words('Hash of the trust bundle.', 128).optional(),
  blockedBy: z
    .array(
      z.strictObject({
        consumer: words('Workload or object that the next step waits for.'),
        waitsFor: words('What it has to do, such as to load CA generation 3.'),
        since: time('Since when the next step waits.'),
      }),
    )
    .max(MOST_NAMED)
    .optional()
    .describe(`What the next step waits for; the first ${MOST_NAMED}.`),
  workloads: z
    .strictObject({
      ready: count('Workloads that have loaded everything they should.'),
      waiting: count('Workloads that the next step waits for.'),
    })
    .optional()
    .describe('Number of workloads.'),
  rotations: z
    .array(words('Id of a rotation.', 256))
    .max(MOST_NAMED)
    .optional()
    .describe(`Rotations that have begun, the last ${MOST_NAMED}.`),
  consumers: z
    .array(
      z.strictObject({
        name: words('Workload of the namespace of the Authority.'),
        kind: words('How it picks changes up.', 64),
        evidence: words('Its weakest evidence.', 64).optional(),
        remark: words('What else to know of it.').optional(),
        serves: words('What it serves now, where clients are refused, or will be.').optional(),
      }),
    )
    .max(MOST_NAMED)
    .optional()
    .describe(`Programs that verify or present certificates; the first ${MOST_NAMED}.`),
  notes: z.array(words('What to know, in a sentence.')).max(MOST_SENTENCES).optional().describe('Warnings.'),
  next: z
    .array(words('What would be done, and why; or what is waited for.'))
    .max(MOST_SENTENCES)
    .optional()
    .describe('What the operator would do now.'),
  history: z
    .array(
      z.strictObject({
        at: time('When the step was taken.'),
        step: words('Which step.', 64),
        generations: z
          .array(generation('CA generation that it changed.'))
          .max(32)
          .describe('CA generations.'),
        rotation: words('Id of the rotation.', 256).optional(),
        via: words('How it was requested.', 64).optional(),
        manager: words('Client that requested it, by the name that it gave itself.', 256).optional(),
        why: words('Why it was taken.'),
      }),
    )
    .max(MOST_SENTENCES)
    .optional()
    .describe(`Steps of rotations, oldest first; the last ${MOST_SENTENCES}.`),
  ...common,
});

const leaf = z.strictObject({
  secretName: words('Secret that holds the certificate.', 253).optional(),
  generation: generation('CA generation that signed the certificate.').optional(),
  fingerprint: fingerprint('SHA-256 of the certificate.').optional(),
  notBefore: time('From when it is valid.').optional(),
  notAfter: time('Until when it is valid.').optional(),
  renewAt: time('When the certificate will be renewed.').optional(),
  ...common,
});

const trustBundle = z.strictObject({
  hash: words('Hash of the bundle.', 128).optional(),
  certificates: count('Number of certificates in the bundle.').optional(),
  targets: z
    .strictObject({
      ready: count('Objects that hold the bundle.'),
      failing: count('Objects that could not be written.'),
    })
    .optional()
    .describe('Number of target objects.'),
  failing: z
    .array(z.strictObject({ target: words('Which object.'), why: words('Why, and what to do.') }))
    .max(MOST_NAMED)
    .optional()
    .describe(`Objects that could not be written; the first ${MOST_NAMED}.`),
  ...common,
});

const tlsProfile = z.strictObject({
  type: words('The profile in force; for type OpenShift the one that the cluster uses.', 64).optional(),
  hash: words('Hash of the profile that was written.', 128).optional(),
  minTLSVersion: words('Lowest TLS version that the profile accepts.', 64).optional(),
  problems: z
    .array(words('What is wrong, and what to do.'))
    .max(MOST_NAMED)
    .optional()
    .describe('Settings that cannot be honoured.'),
  notMounted: z
    .strictObject({
      count: count('Number of them.'),
      workloads: z
        .array(words('Kind, namespace and name.'))
        .max(MOST_NAMED)
        .describe(`The first ${MOST_NAMED}.`),
    })
    .optional()
    .describe(
      'Workloads that workloadSelector selects and that do not mount the ConfigMap: they are not restarted.',
    ),
  ...common,
});

export const statusSchemas = {
  Authority: authority,
  Leaf: leaf,
  TrustBundle: trustBundle,
  TLSProfile: tlsProfile,
} as const;

type Frozen<T> = T extends string | number | boolean | undefined
  ? T
  : { readonly [K in keyof T]: Frozen<T[K]> };

export type Condition = Frozen<z.output<typeof condition>>;
/** Named apart from the engine's AuthorityStatus, which `handover status` prints. */
export type AuthorityResourceStatus = Frozen<z.output<typeof authority>>;
export type LeafResourceStatus = Frozen<z.output<typeof leaf>>;
export type TrustBundleResourceStatus = Frozen<z.output<typeof trustBundle>>;
export type TlsProfileResourceStatus = Frozen<z.output<typeof tlsProfile>>;
