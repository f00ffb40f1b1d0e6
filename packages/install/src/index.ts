export { type ApiRequest, allowed, unused } from './allowed.ts';
export { type CustomResourceDefinition, crds, GROUP, KIND_TABLE } from './crds.ts';
export { HTTP_PORT, METRICS_PORT, NODE_OPTIONS } from './deployment.ts';
export type { InstallErrorCode } from './error.ts';
export {
  DEFAULT_NAMESPACE,
  type InstallOptions,
  installation,
  installedGrants,
  type Manifest,
  METRICS_AUTH,
  type MetricsAuth,
  REPLICAS,
  removable,
  SERVICE_ACCOUNT,
} from './install.ts';
export type { Feature } from './row.ts';
export { type Grant, grantsFor, LEASE, RIGHTS } from './rules.ts';
export { installationYaml, removableYaml } from './yaml.ts';
