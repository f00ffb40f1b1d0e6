export { writeJks } from './jks.ts';
export {
  CONTENTS,
  holdsKey,
  isStore,
  type KeyFormat,
  OUTPUT_FORMATS,
  type OutputContent,
  type OutputFormat,
  type OutputMaterial,
  type OutputSpec,
  outputBytes,
} from './output.ts';
export { Password } from './password.ts';
export { PKCS12_PROFILES, type Pkcs12Profile, writeTrustStore } from './pkcs12-trust.ts';
export { type ReadStore, readStore, type StoreFormat, storeFormatOf } from './read-store.ts';
