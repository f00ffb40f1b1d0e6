import { z } from 'zod';
import { ROTATE } from '../contract/marks.ts';
import { fields, namespaceName, objectName } from './fields.ts';

export const API_VERSION = 'handover.dev/v1alpha1';

const strings = (what: string) =>
  z.record(z.string().max(317), z.string().max(262_144)).prefault({}).describe(what);

// Added by an API server, and ignored here: code that needs them reads the object, not the resource.
const SERVER_OWNED = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'finalizers',
  'managedFields',
  'ownerReferences',
  'selfLink',
  'generateName',
] as const;

const serverOwned = Object.fromEntries(SERVER_OWNED.map((name) => [name, z.unknown().optional()])) as Record<
  (typeof SERVER_OWNED)[number],
  z.ZodOptional<z.ZodUnknown>
>;

const named = {
  name: objectName().describe('Name of the resource, unique in its namespace.'),
  labels: strings('Labels, for selectors.'),
  annotations: strings(`Annotations, such as ${ROTATE}.`),
};

export const namespacedMetadata = fields({
  ...named,
  namespace: namespaceName().prefault('default').describe('Namespace of the resource.'),
  ...serverOwned,
}).transform(({ name, namespace, labels, annotations }) => ({ name, namespace, labels, annotations }));

export const clusterMetadata = fields({
  ...named,
  namespace: z
    .string()
    .max(0, { error: 'a TrustBundle belongs to the whole cluster; leave the namespace out' })
    .optional(),
  ...serverOwned,
}).transform(({ name, labels, annotations }) => ({ name, labels, annotations }));

/** Fields that every resource has. `status` is written, never read: it is dropped. */
export const frame = <Kind extends string>(kind: Kind) => ({
  apiVersion: z.literal(API_VERSION).describe('Version of the schema.'),
  kind: z.literal(kind).describe('Kind of the resource.'),
  status: z.unknown().optional().describe('What Handover last saw. Only Handover writes it.'),
});
