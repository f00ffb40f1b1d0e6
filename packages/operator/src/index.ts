export { KubeHome, type KubeHomeOptions } from './home/home.ts';
export { type Held, heldOf, MANAGED_LABEL } from './home/held.ts';
export { kindsWith } from './home/kinds.ts';
export { CustomResources, type Declarations, GivenResources, resourcesOfFile } from './resources/declarations.ts';
export { RESOURCE_KINDS } from './resources/kinds.ts';
export { type Health, serveHealth } from './run/health.ts';
export { Operator, type OperatorEvent, type OperatorOptions } from './run/operator.ts';
