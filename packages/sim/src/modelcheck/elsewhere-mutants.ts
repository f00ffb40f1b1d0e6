import type { Mutant } from './mutant.ts';

/** Mutants of the rules about CAs that stay trusted without their keys. */
export const elsewhereMutants: readonly Mutant[] = [
  {
    name: 'a workload of another namespace is overtaken by time, as it was before CAs were retained',
    file: 'next-step.js',
    from: 'const retain = neededFor(context, previous);',
    to: 'const retain = undefined; if (!clock.aged(current.since, 2 * context.policy.reloadWithin + context.policy.cacheLag)) return undefined;',
    worlds: ['a restart-only workload of another namespace'],
  },
  {
    name: 'time counts for a workload of another namespace against what it shows',
    file: 'evidence.js',
    from: "const settledStands = !denied && consumer.reload !== 'restart' &&",
    to: "const settledStands = !consumer.blocks || !denied && consumer.reload !== 'restart' &&",
    worlds: ['a slow workload of another namespace that acknowledges'],
  },
  {
    name: 'a Secret elsewhere that cannot be written speaks for the pods that show its old leaf',
    file: 'evidence.js',
    from: "question.about === 'trust' && !consumer.blocks",
    to: '!consumer.blocks',
    worlds: ['a hostile neighbour whose pod never restarts, and two rotations'],
  },
  {
    name: 'a retained CA is dropped as soon as the rotation is over',
    file: 'retained.js',
    from: 'if (users.length === 0)',
    to: 'if (true)',
    worlds: ['a restart-only workload of another namespace'],
  },
  {
    name: 'a retained CA is dropped although a kubelet may still hand out its leaf',
    file: 'retained.js',
    from: 'if (!clock.aged(seen.leaf.writtenAt, lagOf(context, object)))',
    to: 'if (false)',
    worlds: ['a workload of another namespace that acknowledges and restarts, with stale caches'],
  },
  {
    name: 'a leaf in another namespace that no pod is known to use counts as unused',
    file: 'retained.js',
    from: 'if (!presenters.some((one) => speaksForReaders(one, generation.stoppedAt)))',
    to: 'if (presenters.length > 0 && !presenters.some((one) => speaksForReaders(one, generation.stoppedAt)))',
    worlds: ['a leaf of another namespace that an unknown workload presents'],
  },
  {
    name: 'programs that read a Secret of another namespace too, by its owner’s word, are forgotten',
    file: 'retained.js',
    from: 'if (shared.has(object))',
    to: 'if (false)',
    worlds: ['a leaf of another namespace that an unknown workload presents too, by its owner’s word'],
  },
  {
    name: 'a workload that came late speaks for those that read a Secret of another namespace before',
    file: 'retained.js',
    from: 'if (!presenters.some((one) => speaksForReaders(one, generation.stoppedAt)))',
    to: 'if (presenters.length === 0)',
    worlds: ['a workload that comes late and mounts the Secret of an unknown workload of another namespace'],
  },
  {
    name: 'the oldest retained CA goes first, whatever it is needed for',
    file: 'retained.js',
    from: 'unseenIn(context, one).length === 0) ??',
    to: 'false) ??',
    worlds: ['more CAs than may be retained: the oldest for its own namespace, the others for another one'],
  },
  {
    name: 'a retained CA is dropped although its leaf is still in the Secret',
    file: 'retained.js',
    from: 'if (seen?.leaf === undefined || issuer === undefined)',
    to: 'if (seen?.leaf === undefined || issuer === undefined) return []; if (false)',
    worlds: [
      'a workload of another namespace that gives no evidence',
      'a restart-only workload of another namespace',
    ],
  },
  {
    name: 'a leaf elsewhere is written before the state remembers it',
    file: 'retained.js',
    from: 'return (current !== undefined &&',
    to: 'return (true || current !== undefined &&',
    worlds: ['a Leaf of another namespace that is deleted after a rotation, and another rotation'],
  },
  {
    name: 'a distrust does not reach a retained CA past one that is gone',
    file: 'transition.js',
    from: 'reached.add(by);',
    to: 'if (generationOf(state, by)) reached.add(by);',
    worlds: ['another namespace, two rotations, and distrust'],
  },
  {
    name: 'a rotation waits for workloads of other namespaces',
    file: 'gates.js',
    from: 'const { seen, context } = ownPart(all, view);',
    to: 'const { seen, context } = { seen: view, context: all };',
    worlds: ['a hostile neighbour', 'a workload of another namespace that gives no evidence'],
  },
];
