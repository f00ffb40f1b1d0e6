export { type CaInput, type CrossInput, issueCa, issueCross } from './ca.ts';
export type { Usage } from './extensions.ts';
export { generateKey, generateKeyAside, type KeyAlgorithm, type KeyPair, type KeySource } from './keys.ts';
export { issueLeaf, type LeafInput } from './leaf.ts';
export { subjectKeyId } from './public-key.ts';
