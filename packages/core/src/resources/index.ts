export { START_TLS, type StartTls } from './consumer.ts';
export { formatDuration, parseDuration } from './duration.ts';
export { endOfDay } from './fields.ts';
export {
  type ForeignBundleSource,
  type ForeignBundleSpec,
  type ForeignBundleTemplate,
  parseForeignBundle,
} from './foreign-bundle.ts';
export { API_VERSION } from './metadata.ts';
export {
  type Authority,
  identityOf,
  KINDS,
  type Kind,
  type Leaf,
  type Locate,
  parseRequestedLeaf,
  parseResource,
  parseResources,
  type Resource,
  resourceSchemas,
  type TlsProfile,
  type TrustBundle,
} from './parse.ts';
