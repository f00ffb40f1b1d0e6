import type { KubeObject } from './object.ts';

/** A kind of object, as a value. `T` is the type of its objects. */
export interface ResourceKind<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Never set. Carries the type. */
  readonly objects?: T;
}

export const apiVersionOf = ({ group, version }: Pick<ResourceKind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

/** A kind by its parts: `kindOf('apps/v1', 'deployments', 'Deployment')`. */
export function kindOf<T extends KubeObject = KubeObject>(
  apiVersion: string,
  plural: string,
  kind: string,
  namespaced = true,
): ResourceKind<T> {
  const slash = apiVersion.indexOf('/');
  return {
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    plural,
    kind,
    namespaced,
  };
}

export interface Secret extends KubeObject {
  readonly type?: string;
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}

export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export interface ClusterTrustBundle extends KubeObject {
  readonly spec?: { readonly signerName?: string; readonly trustBundle?: string };
}

export const namespaces = kindOf('v1', 'namespaces', 'Namespace', false);
export const nodes = kindOf('v1', 'nodes', 'Node', false);
export const pods = kindOf('v1', 'pods', 'Pod');
export const services = kindOf('v1', 'services', 'Service');
export const serviceAccounts = kindOf('v1', 'serviceaccounts', 'ServiceAccount');
export const secrets = kindOf<Secret>('v1', 'secrets', 'Secret');
export const configMaps = kindOf<ConfigMap>('v1', 'configmaps', 'ConfigMap');
export const events = kindOf('v1', 'events', 'Event');
export const leases = kindOf<Lease>('coordination.k8s.io/v1', 'leases', 'Lease');
export const deployments = kindOf('apps/v1', 'deployments', 'Deployment');
export const statefulSets = kindOf('apps/v1', 'statefulsets', 'StatefulSet');
export const daemonSets = kindOf('apps/v1', 'daemonsets', 'DaemonSet');
export const replicaSets = kindOf('apps/v1', 'replicasets', 'ReplicaSet');
export const jobs = kindOf('batch/v1', 'jobs', 'Job');
export const cronJobs = kindOf('batch/v1', 'cronjobs', 'CronJob');
export const endpointSlices = kindOf('discovery.k8s.io/v1', 'endpointslices', 'EndpointSlice');
export const apiServices = kindOf('apiregistration.k8s.io/v1', 'apiservices', 'APIService', false);
export const validatingWebhookConfigurations = kindOf(
  'admissionregistration.k8s.io/v1',
  'validatingwebhookconfigurations',
  'ValidatingWebhookConfiguration',
  false,
);
export const mutatingWebhookConfigurations = kindOf(
  'admissionregistration.k8s.io/v1',
  'mutatingwebhookconfigurations',
  'MutatingWebhookConfiguration',
  false,
);
export const customResourceDefinitions = kindOf(
  'apiextensions.k8s.io/v1',
  'customresourcedefinitions',
  'CustomResourceDefinition',
  false,
);

/** Clusters serve different versions: ask `kube.serves('certificates.k8s.io', version, 'clustertrustbundles')`. */
export const clusterTrustBundles = (version: string): ResourceKind<ClusterTrustBundle> =>
  kindOf<ClusterTrustBundle>(
    `certificates.k8s.io/${version}`,
    'clustertrustbundles',
    'ClusterTrustBundle',
    false,
  );

/** As ClusterTrustBundles: clusters serve different versions, and older ones none. */
export const podCertificateRequests = (version: string): ResourceKind =>
  kindOf(`certificates.k8s.io/${version}`, 'podcertificaterequests', 'PodCertificateRequest');
