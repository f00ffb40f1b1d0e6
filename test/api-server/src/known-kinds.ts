import * as known from '@handover/kube';
import type { JsonObject } from './json.ts';
import type { Field } from './selectors.ts';

export interface ServedKind {
  readonly kind: known.ResourceKind;
  /** Has `/status`: writes to the object's own path leave the status alone, and writes to `/status` the rest. */
  readonly hasStatus: boolean;
  /** Counts `metadata.generation`. */
  readonly generations: boolean;
  /** An update without resourceVersion is refused. */
  readonly strict: boolean;
  /** A custom resource: `/status` changes only the status. For built-in kinds it also changes metadata. */
  readonly custom: boolean;
}

const WITH_STATUS = new Set([
  'apiservices',
  'cronjobs',
  'customresourcedefinitions',
  'daemonsets',
  'deployments',
  'jobs',
  'namespaces',
  'nodes',
  'podcertificaterequests',
  'pods',
  'replicasets',
  'services',
  'statefulsets',
]);
const WITH_GENERATION = new Set([
  'customresourcedefinitions',
  'daemonsets',
  'deployments',
  'jobs',
  'mutatingwebhookconfigurations',
  'replicasets',
  'statefulsets',
  'validatingwebhookconfigurations',
]);
const STRICT = new Set([
  'apiservices',
  'customresourcedefinitions',
  'leases',
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
]);

export const builtIn = (kind: known.ResourceKind): ServedKind => ({
  kind,
  hasStatus: WITH_STATUS.has(kind.plural),
  generations: WITH_GENERATION.has(kind.plural),
  strict: STRICT.has(kind.plural),
  custom: false,
});

export const BUILT_IN: readonly ServedKind[] = [
  known.namespaces,
  known.nodes,
  known.pods,
  known.services,
  known.serviceAccounts,
  known.secrets,
  known.configMaps,
  known.events,
  known.leases,
  known.deployments,
  known.statefulSets,
  known.daemonSets,
  known.replicaSets,
  known.jobs,
  known.cronJobs,
  known.endpointSlices,
  known.apiServices,
  known.validatingWebhookConfigurations,
  known.mutatingWebhookConfigurations,
  known.customResourceDefinitions,
  known.podCertificateRequests('v1'),
].map(builtIn);

const at =
  (...path: readonly string[]): Field =>
  (object) => {
    let value: unknown = object;
    for (const part of path) value = (value as Record<string, unknown> | undefined)?.[part];
    return typeof value === 'string' ? value : '';
  };

const COMMON: Readonly<Record<string, Field>> = {
  'metadata.name': at('metadata', 'name'),
  'metadata.namespace': at('metadata', 'namespace'),
};

const MORE: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
  events: { 'involvedObject.name': at('involvedObject', 'name'), reason: at('reason') },
  pods: {
    'spec.nodeName': at('spec', 'nodeName'),
    'status.phase': at('status', 'phase'),
    'spec.serviceAccountName': at('spec', 'serviceAccountName'),
  },
  secrets: { type: at('type') },
};

export const fieldsOf = (plural: string): Readonly<Record<string, Field>> => ({ ...COMMON, ...MORE[plural] });

/** The kinds that a CustomResourceDefinition adds. */
export function kindsOfCrd(crd: JsonObject): readonly ServedKind[] {
  const { spec } = crd as unknown as {
    spec?: {
      group?: string;
      scope?: string;
      names?: { plural?: string; kind?: string };
      versions?: readonly { name?: string; served?: boolean; subresources?: { status?: unknown } }[];
    };
  };
  return (spec?.versions ?? [])
    .filter(({ served }) => served !== false)
    .map(({ name, subresources }) => ({
      kind: {
        group: spec?.group ?? '',
        version: name ?? '',
        plural: spec?.names?.plural ?? '',
        kind: spec?.names?.kind ?? '',
        namespaced: spec?.scope === 'Namespaced',
      },
      hasStatus: subresources?.status !== undefined,
      generations: true,
      strict: true,
      custom: true,
    }));
}
