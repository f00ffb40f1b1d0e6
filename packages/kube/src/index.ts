export { type ApiStatus, apiCause } from './api-error.ts';
export { connect } from './client.ts';
export type { ServerClock } from './clock.ts';
export type { KubeErrorCode } from './error.ts';
export { Hidden } from './hidden.ts';
export { type AnyInformer, Informer } from './informer.ts';
export type { InformerOptions, InformerState } from './informer-options.ts';
export {
  apiServices,
  apiVersionOf,
  type ClusterTrustBundle,
  type ConfigMap,
  clusterTrustBundles,
  configMaps,
  cronJobs,
  customResourceDefinitions,
  daemonSets,
  deployments,
  endpointSlices,
  events,
  jobs,
  kindOf,
  type Lease,
  leases,
  mutatingWebhookConfigurations,
  namespaces,
  nodes,
  podCertificateRequests,
  pods,
  type ResourceKind,
  replicaSets,
  type Secret,
  secrets,
  serviceAccounts,
  services,
  statefulSets,
  validatingWebhookConfigurations,
} from './kinds.ts';
export type { Fence, Kube, KubeReader, KubeWriter } from './kube.ts';
export type { KubeConfig } from './kubeconfig/config.ts';
export { type LoadOptions, loadKubeConfig } from './kubeconfig/load.ts';
export { LeaderLease, type LeadOptions, lead } from './lease.ts';
export { type KubeObject, type ManagedFields, objectKeyOf } from './object.ts';
export type { Rate } from './rate-limit.ts';
export type { ReloadReport } from './reload-report.ts';
export type { RequestReport } from './request-report.ts';
export type { List, PatchOptions, WatchEvent } from './requests.ts';
export type { ConnectOptions } from './session.ts';
export type { Indexes, StoreChange } from './store.ts';
