export { type Leaf, type LeafSpec, MockCa } from '../src/testing/mock-ca.ts';
