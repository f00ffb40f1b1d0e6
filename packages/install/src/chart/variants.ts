import { COMPAT, type Compat } from '@handover/core';
import { HandoverError } from '@handover/material';
import { checkedOptions, type InstallOptions, METRICS_AUTH, type Page, pages } from '../install.ts';

/** What stands in the objects where the chart puts a value. Each is good input, so that nothing is made for the chart alone. */
export const TOKENS = {
  own: 'own-namespace-token',
  watched: 'watched-namespace-token',
  image: 'image-token',
  signer: 'signer.token/name',
  namespacedArgument: 'namespaced-argument-token',
  compatArgument: 'compat-argument-token',
  trustNamespace: 'trust-namespace-token',
  cainjectorNamespace: 'cainjector-namespace-token',
  defaultCas: 'default-cas-token',
} as const;

/** One installation of all those that differ in what there is, not only in a name. */
export interface Variant {
  readonly options: InstallOptions;
  readonly pages: readonly Page[];
}

const WATCHED: readonly (readonly string[] | undefined)[] = [
  undefined,
  [TOKENS.watched],
  [TOKENS.own],
  [TOKENS.own, TOKENS.watched],
];
const HONOURED: readonly (readonly Compat[])[] = [[], ...COMPAT.map((name) => [name]), COMPAT];

/** Each alone, and all at once. */
const BESIDE_OTHERS: readonly Partial<InstallOptions>[] = [
  {},
  { trustNamespace: TOKENS.trustNamespace },
  { defaultCas: TOKENS.defaultCas },
  { secretTargets: true },
  { cainjectorNamespace: TOKENS.cainjectorNamespace },
  {
    trustNamespace: TOKENS.trustNamespace,
    cainjectorNamespace: TOKENS.cainjectorNamespace,
    defaultCas: TOKENS.defaultCas,
    secretTargets: true,
  },
];

const isTaken = (options: InstallOptions): boolean => {
  try {
    checkedOptions(options);
    return true;
  } catch (error) {
    if (error instanceof HandoverError) return false;
    throw error;
  }
};

/** Every combination of options that is not refused. */
export const variants = (): readonly Variant[] =>
  WATCHED.flatMap((namespaced) =>
    HONOURED.flatMap((compat) =>
      [false, true].flatMap((openshift) =>
        [[], [TOKENS.signer]].flatMap((signers) =>
          METRICS_AUTH.flatMap((metricsAuth) =>
            BESIDE_OTHERS.flatMap((more) =>
              [false, true].map((podCertificates) => ({
                namespace: TOKENS.own,
                image: TOKENS.image,
                namespaced,
                compat,
                openshift,
                podCertificates,
                signers,
                metricsAuth,
                ...more,
              })),
            ),
          ),
        ),
      ),
    ),
  )
    .filter(isTaken)
    .map((options) => ({ options, pages: pages(options) }));

/** A question about an installation, and the same question in a template. */
interface Question {
  readonly template: string;
  readonly holds: (options: InstallOptions) => boolean;
}

const QUESTIONS: readonly Question[] = [
  { template: 'not $watched', holds: ({ namespaced }) => namespaced === undefined },
  { template: '$watched', holds: ({ namespaced }) => namespaced !== undefined },
  {
    template: 'has $.Release.Namespace $watched',
    holds: ({ namespaced }) => namespaced?.includes(TOKENS.own) === true,
  },
  { template: '$.Values.podCertificates', holds: ({ podCertificates }) => podCertificates === true },
  { template: '$.Values.openshift', holds: ({ openshift }) => openshift === true },
  {
    template: 'eq $.Values.metricsAuth "token"',
    holds: ({ metricsAuth }) => metricsAuth === 'token',
  },
  {
    template: 'ne $.Values.metricsAuth "token"',
    holds: ({ metricsAuth }) => metricsAuth !== 'token',
  },
  { template: '$.Values.signers', holds: ({ signers = [] }) => signers.length > 0 },
  { template: '$.Values.compat', holds: ({ compat = [] }) => compat.length > 0 },
  ...COMPAT.map((name) => ({
    template: `has "${name}" $.Values.compat`,
    holds: ({ compat = [] }: InstallOptions) => compat.includes(name),
  })),
  { template: '$.Values.trustNamespace', holds: ({ trustNamespace }) => trustNamespace !== undefined },
  {
    template: '$.Values.cainjectorNamespace',
    holds: ({ cainjectorNamespace }) => cainjectorNamespace !== undefined,
  },
  { template: '$.Values.defaultCas', holds: ({ defaultCas }) => defaultCas !== undefined },
  { template: '$.Values.secretTargets', holds: ({ secretTargets }) => secretTargets === true },
  {
    template: 'or (eq $.Values.metricsAuth "token") $.Values.defaultCas',
    holds: ({ metricsAuth, defaultCas }) => metricsAuth === 'token' || defaultCas !== undefined,
  },
  {
    template: 'not (has "service-ca" $.Values.compat)',
    holds: ({ compat = [] }) => !compat.includes('service-ca'),
  },
];

const both = (left: Question, right: Question): Question => ({
  template: `and (${left.template}) (${right.template})`,
  holds: (options) => left.holds(options) && right.holds(options),
});

/**
 * The question whose answer is yes for just these of `all`, as a template asks it; undefined: all of them. Nothing is guessed: what
 * depends on the options in another way has no chart until it has a question here.
 */
export const conditionOf = (
  some: ReadonlySet<Variant>,
  all: readonly Variant[],
  what: string,
): string | undefined => {
  if (some.size === all.length) return undefined;
  const pairs = QUESTIONS.flatMap((left, at) => QUESTIONS.slice(at + 1).map((right) => both(left, right)));
  const found = [...QUESTIONS, ...pairs].find(({ holds }) =>
    all.every((variant) => holds(variant.options) === some.has(variant)),
  );
  if (found === undefined) throw new Error(`a chart cannot say when there is ${what}`);
  return found.template;
};
