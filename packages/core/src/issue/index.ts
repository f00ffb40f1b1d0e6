export { type CaInput, type CrossInput, issueCa, issueCross } from './ca.ts';
export type { Usage } from './extensions.ts';
export { inIpRange } from './ip-range.ts';
export { generateKey, generateKeyAside, type KeyAlgorithm, type KeyPair, type KeySource } from './keys.ts';
export { issueLeaf, type LeafInput } from './leaf.ts';
export { nameConstraintsOf, outsideConstraints, type PermittedNames } from './name-constraints.ts';
export { matchesDnsPattern, matchesTextPattern, matchesUriPattern } from './name-pattern.ts';
export { subjectKeyId } from './public-key.ts';
