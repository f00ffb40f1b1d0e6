export { ANNOTATIONS, type AnnotationEntry, type AnnotationOwner } from './annotations.ts';
export { type CertgenHome, type CertgenHomeOptions, openCertgen } from './certgen/certgen.ts';
export { type EmbedOptions, embed, type Own } from './embed/embed.ts';
export type { EmbedEvent } from './embed/events.ts';
export type { EmbedAuthority, EmbedInjection, EmbedLeaf, EmbedSpec } from './embed/spec.ts';
export { type Held, heldOf } from './home/held.ts';
export { KubeHome, type KubeHomeOptions } from './home/home.ts';
export { kindsWith } from './home/kinds.ts';
export {
  type ApiRequest,
  type AuthorityResourceStatus,
  allowed,
  COMPAT,
  type Compat,
  type Condition,
  type CustomResourceDefinition,
  crds,
  DEFAULT_NAMESPACE,
  type Feature,
  GROUP,
  type Grant,
  grantsFor,
  HTTP_PORT,
  type InstallOptions,
  installation,
  installationYaml,
  installedGrants,
  KIND_TABLE,
  LEASE,
  type LeafResourceStatus,
  type Manifest,
  METRICS_AUTH,
  type MetricsAuth,
  MOST_NAMED,
  NODE_OPTIONS,
  RIGHTS,
  SERVICE_ACCOUNT,
  statusSchemas,
  type TlsProfileResourceStatus,
  type TrustBundleResourceStatus,
  unused,
} from './install/index.ts';
export { MANAGED_LABEL } from './marks.ts';
export {
  CustomResources,
  type Declarations,
  GivenResources,
  resourcesOfFile,
} from './resources/declarations.ts';
export { RESOURCE_KINDS } from './resources/kinds.ts';
export { type HealthOptions, type MetricsPage, serveHealth } from './run/health.ts';
export { Operator } from './run/operator.ts';
export type { OperatorEvent, OperatorOptions } from './run/operator-options.ts';
export { openView, type View, type ViewOptions } from './run/view.ts';
export { Addresses } from './workloads/addresses.ts';
