import { z } from 'zod';

// What the operator writes to the status subresource. Types and CRD schemas come from the same lines.

/** How many blockers or failing targets a status names: with thousands of pods the object would not fit into etcd. */
export const MOST_NAMED = 50;

const words = (what: string, max = 1024) => z.string().max(max).describe(what);
const count = (what: string) => z.int().min(0).max(2_147_483_647).describe(what);
const generation = (what: string) => z.int().min(0).max(2_147_483_647).describe(what);
// With format: date-time, so that the API server refuses what is no time.
const time = (what: string) => z.string().max(64).meta({ format: 'date-time' }).describe(what);
const fingerprint = (what: string) => words(what, 128);

// The standard shape (metav1.Condition), so that `kubectl wait --for=condition=Ready` and every tool can read it.
const condition = z.strictObject({
  type: z
    .string()
    .max(316)
    .regex(/^[A-Za-z]([A-Za-z0-9]*)$/)
    .describe('What it is about, such as Ready.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds.'),
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe('Why, in one word for machines.'),
  message: z.string().max(32_768).describe('Why, for people: the field or object, and the remedy.'),
  lastTransitionTime: time('When status last changed.'),
  observedGeneration: generation('metadata.generation it was found for.').optional(),
});

const common = {
  observedGeneration: generation('metadata.generation this status is about.').optional(),
  conditions: z
    .array(condition)
    .max(16)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
    .optional()
    .describe('What holds, and why or why not.'),
};

const authority = z.strictObject({
  phase: z
    .enum(['Stable', 'Introducing', 'Activating', 'Retiring'])
    .optional()
    .describe('Where the rotation stands.'),
  generations: z
    .array(
      z.strictObject({
        generation: generation('Its number.'),
        role: z
          .enum(['next', 'current', 'previous', 'distrusted'])
          .describe('next is trusted and does not sign yet; current signs; previous is trusted still.'),
        fingerprint: fingerprint('SHA-256 of its certificate.'),
        notBefore: time('From when it is valid.'),
        notAfter: time('Until when it is valid.'),
      }),
    )
    .max(32)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['generation'] })
    .optional()
    .describe('The CAs this authority has now.'),
  bundleHash: words('Hash of its bundle.', 128).optional(),
  blockedBy: z
    .array(
      z.strictObject({
        consumer: words('Who is waited for.'),
        waitsFor: words('What would free it.'),
        since: time('Since when it is waited for.'),
      }),
    )
    .max(MOST_NAMED)
    .optional()
    .describe(`Who holds the next step up; the first ${MOST_NAMED}.`),
  workloads: z
    .strictObject({
      ready: count('How many are shown to hold what they should.'),
      waiting: count('How many are waited for.'),
    })
    .optional()
    .describe('Consumers, counted.'),
  ...common,
});

const leaf = z.strictObject({
  secretName: words('Secret that holds it.', 253).optional(),
  generation: generation('Generation of the CA that signed it.').optional(),
  fingerprint: fingerprint('SHA-256 of the certificate.').optional(),
  notBefore: time('From when it is valid.').optional(),
  notAfter: time('Until when it is valid.').optional(),
  renewAt: time('When it will be renewed.').optional(),
  ...common,
});

const trustBundle = z.strictObject({
  hash: words('Hash of the bundle.', 128).optional(),
  certificates: count('How many certificates it has.').optional(),
  targets: z
    .strictObject({
      ready: count('How many objects hold it.'),
      failing: count('How many objects could not be written.'),
    })
    .optional()
    .describe('Objects it is written to, counted.'),
  failing: z
    .array(z.strictObject({ target: words('Which object.'), why: words('Why, and what to do.') }))
    .max(MOST_NAMED)
    .optional()
    .describe(`Objects that could not be written; the first ${MOST_NAMED}.`),
  ...common,
});

const tlsProfile = z.strictObject({
  type: words('The profile that is in force; with OpenShift the one that was found there.', 64).optional(),
  hash: words('Hash of the profile as written.', 128).optional(),
  minTLSVersion: words('Lowest TLS version it accepts.', 64).optional(),
  problems: z
    .array(words('What is wrong, and what to do.'))
    .max(MOST_NAMED)
    .optional()
    .describe('What the profile asks for and cannot have.'),
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
