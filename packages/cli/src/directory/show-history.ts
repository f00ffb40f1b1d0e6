import type { AuthorityStatus } from '@handover/engine';

type Step = NonNullable<AuthorityStatus['history']>[number];

const MOST_STEPS = 5;

const askedBy = ({ askedBy: asker }: Step): string => {
  if (asker === undefined) return '';
  const { via, user, uid, manager } = asker;
  if (via === 'schedule') return ', by schedule';
  if (user !== undefined || uid !== undefined) return `, requested by user ${user ?? uid}`;
  return manager === undefined ? `, requested by ${via}` : `, requested by ${manager} (${via})`;
};

const evidence = ({ counts = {} }: Step): string => {
  const kinds = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  return kinds.length === 0 ? '' : ` [${kinds.join(', ')}]`;
};

const WHAT = {
  mint: 'created',
  activate: 'started to sign with',
  retire: 'retired',
  drop: 'dropped',
  distrust: 'distrusted',
  'distrust-done': 'forgot',
} as const satisfies Record<Step['step'], string>;

/** The steps of the last rotation or distrust, as lines. */
export const lastRotation = (history: readonly Step[] = []): readonly string[] => {
  const begun = history.findLastIndex(({ step }) => step === 'mint' || step === 'distrust');
  const steps = history.slice(Math.max(begun, 0)).slice(-MOST_STEPS);
  const [first] = steps;
  if (first === undefined) return [];
  const name = first.rotation === undefined ? '' : ` ${first.rotation}`;
  return [
    `  last change${name}${askedBy(first)}`,
    ...steps.map(
      (step) =>
        `    ${step.at}  ${WHAT[step.step]} CA ${step.generations.length === 1 ? 'generation' : 'generations'} ${step.generations.join(', ')}: ${step.why}${evidence(step)}`,
    ),
  ];
};
