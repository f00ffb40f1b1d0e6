export { type CertgenHome, type CertgenHomeOptions, openCertgen } from './certgen/certgen.ts';
export { type EmbedOptions, embed, type Own } from './embed/embed.ts';
export type { EmbedEvent } from './embed/events.ts';
export type { EmbedAuthority, EmbedInjection, EmbedLeaf, EmbedSpec } from './embed/spec.ts';
export type { OperatorErrorCode } from './error.ts';
export { KubeHome } from './home/home.ts';
export type { KubeHomeOptions } from './home/options.ts';
export { type Held, heldOf } from './objects/held.ts';
export { kindsWith } from './objects/kinds.ts';
export {
  CustomResources,
  type Declarations,
  GivenResources,
  resourcesOfFile,
} from './resources/declarations.ts';
export { RESOURCE_KINDS } from './resources/kinds.ts';
export { type HealthOptions, type MetricsPage, serveHealth } from './run/health.ts';
export { Operator } from './run/operator.ts';
export type { OperatorOptions } from './run/operator-options.ts';
export { openView, type View, type ViewOptions } from './run/view.ts';
export { Addresses } from './workloads/addresses.ts';
