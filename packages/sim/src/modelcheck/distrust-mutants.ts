import type { Mutant } from './mutant.ts';

/** Faults in the distrust of a CA. */
export const distrustMutants: readonly Mutant[] = [
  {
    name: 'distrust keeps the CA that vouches for the distrusted one',
    file: 'transition.js',
    from: "if (signer !== undefined && signer.role !== 'distrusted')",
    to: 'if (false)',
    worlds: ['distrust of each role in each phase', 'distrust twice'],
  },
  {
    name: 'the replacement of a distrusted CA is not cross-signed',
    file: 'transition.js',
    from: 'crossBy: voucher?.number',
    to: 'crossBy: undefined',
    worlds: ['distrust twice'],
  },
  {
    name: 'a distrusted CA vouches for its own replacement while there is a previous one',
    file: 'transition.js',
    from: "[withRole(state, 'previous'), current].find",
    to: '[current].find',
    worlds: ['distrust of each role in each phase'],
  },
  {
    name: 'a distrust is done before any verifier has confirmed',
    file: 'gates.js',
    from: "const blockers = missing(seen, 'verifies', since, rid);",
    to: 'const blockers = [];',
    worlds: ['distrust twice'],
  },
  {
    name: 'a distrust does not roll restart-only pods',
    file: 'rollouts.js',
    from: 'distrusts: state.distrusts,',
    to: 'distrusts: 0,',
    worlds: ['distrust with restart-only pods'],
  },
  {
    name: 'the key of a leaf outlives its distrusted CA',
    file: 'writes.js',
    from: 'return trusted(state).some(({ anchors })',
    to: 'return state.generations.some(({ anchors })',
    worlds: ['distrust twice'],
  },
  {
    name: 'chains lose their cross-certificates on distrust',
    file: 'desired.js',
    from: 'chain: current === undefined ? []',
    to: 'chain: current === undefined || state.distrusts > 0 ? []',
    worlds: ['distrust twice'],
  },
];
