import type { Mutant } from './mutant.ts';

/** Mutants of the rules about other namespaces. */
export const borderMutants: readonly Mutant[] = [
  {
    name: 'a step waits for other namespaces without end',
    file: 'borders.js',
    from: 'clock.aged(begun, wait)',
    to: 'false',
    worlds: ['a workload of another namespace that shows for ever that it does not reload'],
  },
  {
    name: 'a distrust waits for other namespaces',
    file: 'gates.js',
    from: 'const { context, seen } = ownPart(all, view);',
    to: 'const { context, seen } = { context: all, seen: view };',
    worlds: ['a hostile neighbour, and distrust'],
  },
  {
    name: 'an object of another namespace stops everything by the revision it claims',
    file: 'plan.js',
    from: 'elsewhere.has(id) ? undefined : objects.get(id)',
    to: 'objects.get(id)',
    worlds: ['a hostile neighbour'],
  },
  {
    name: 'an object that no resource asks for stops everything by the revision it claims',
    file: 'plan.js',
    from: 'return [...asked].flatMap(',
    to: 'return [...objects.keys()].flatMap(',
    worlds: ['a hostile neighbour'],
  },
  {
    name: 'writes to other namespaces come before a step',
    file: 'plan.js',
    from: 'if (writes.some((write) => !isElsewhere(write)))',
    to: 'if (writes.length > 0)',
    worlds: ['a hostile neighbour'],
  },
  {
    name: 'rollouts in other namespaces come before a step',
    file: 'plan.js',
    from: 'if (stamps.some((stamp) => !isElsewhere(stamp)))',
    to: 'if (stamps.length > 0)',
    worlds: ['a hostile neighbour'],
  },
  {
    name: 'rollouts in other namespaces use up maxConcurrentRollouts',
    file: 'rollouts.js',
    from: "(blocks ? '' : (namespace ?? 'elsewhere'))",
    to: "''",
    worlds: ['a hostile neighbour beside restart-only pods'],
  },
  {
    name: 'an object of another namespace keeps the authority in Retiring',
    file: 'plan.js',
    from: '[...policy.leaves, ...policy.bundles].filter(({ elsewhere }) => elsewhere !== true)',
    to: '[...policy.leaves, ...policy.bundles]',
    worlds: ['a hostile neighbour'],
  },
];
