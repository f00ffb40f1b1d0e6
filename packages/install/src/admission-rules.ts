import { ADOPT, MANAGED_LABEL, RECORD } from '@handover/core';

/** A rule in CEL, and what the API server answers when it does not hold. */
export interface AdmissionRule {
  readonly expression: string;
  readonly message: string;
  /** The same message in CEL, with what to do about this very object. */
  readonly messageExpression?: string;
}

export const texts = (...items: readonly string[]): string =>
  `[${items.map((item) => `'${item}'`).join(', ')}]`;
export const celOneOf = (...keys: readonly string[]): string => `k in ${texts(...keys)}`;

/**
 * Two maps are equal but for the keys that `but` describes, a CEL term about `k`. Every key is looked at, also those of a later
 * Kubernetes: a list of fields to compare would let through what it does not know.
 */
export const same = (now: string, was: string, but: string): string =>
  `${now}.all(k, ${but} || (k in ${was} && ${was}[k] == ${now}[k])) && ${was}.all(k, ${but} || k in ${now})`;

/** The same for the map at a path of the object; one that is not there counts as empty. */
export const kept = (path: readonly string[], but: string): string => {
  const at = (root: string) => (path.length === 0 ? root : `${[root, ...path].join('.?')}.orValue({})`);
  return same(at('object'), at('oldObject'), but);
};

// What the API server itself changes with every write.
const BOOKKEEPING = ['managedFields', 'resourceVersion', 'generation'] as const;
export const OURS = "k.startsWith('handover.dev/')";

/** Everything as it was but annotations of ours, and the fields named. */
export const onlyIn = (
  what: string,
  fields: readonly string[],
  annotations = OURS,
): readonly AdmissionRule[] => [
  {
    expression: kept([], celOneOf('metadata', ...fields)),
    message: `Handover may change only annotations${fields.map((field) => ` and ${field}`).join('')} of ${what}`,
  },
  {
    expression: kept(['metadata'], celOneOf('annotations', ...BOOKKEEPING)),
    message: `Handover may change only annotations in the metadata of ${what}`,
  },
  {
    expression: kept(['metadata', 'annotations'], annotations),
    message: `Handover may not change this annotation of ${what}`,
  },
];

/** All the way down a path of maps, nothing but the next one has changed; in the last, nothing but `but`. */
export const onlyAt = (
  what: string,
  path: readonly string[],
  but: string,
  message: string,
): readonly AdmissionRule[] => [
  ...onlyIn(what, path.slice(0, 1)),
  {
    expression: path
      .map((_, index) => {
        const next = path[index + 1];
        return kept(path.slice(0, index + 1), next === undefined ? but : celOneOf(next));
      })
      .join(' && '),
    message,
  },
];

/** CEL for a label or an annotation of the object as it was; empty where there is none. */
export const had = (field: 'labels' | 'annotations', name: string): string =>
  `oldObject.metadata.?${field}['${name}'].orValue('')`;

/**
 * What the object's owner had said before this write: kept by Handover already, or to be taken over. The record stands for a label that
 * was taken away: both were written at once.
 */
export const agreed = (...more: readonly string[]): string =>
  [
    'oldObject == null',
    `${had('labels', MANAGED_LABEL)} == 'true'`,
    `${had('labels', ADOPT)} == 'true'`,
    `${had('annotations', RECORD)} != ''`,
    ...more,
  ].join(' || ');

export const labelled = `object.metadata.?labels['${MANAGED_LABEL}'].orValue('') == 'true'`;

export const UNOWNED: AdmissionRule = {
  expression: ['ownerReferences', 'finalizers']
    .map(
      (field) =>
        `object.metadata.?${field}.orValue([]) == (oldObject == null ? [] : oldObject.metadata.?${field}.orValue([]))`,
    )
    .join(' && '),
  message: 'Handover may not change owners or finalizers',
};

/** Refuses what its owner did not give over, and says how that is done. */
export const mustBeAgreed = (what: string, expression: string): AdmissionRule => {
  const message = `Handover may change only ${what} that it keeps already, or that carry the label ${ADOPT}: "true"`;
  // Absent from requests about objects without one.
  const namespace = "request.?namespace.optMap(n, ' -n ' + n).orValue('')";
  return {
    expression,
    message,
    messageExpression: `'${message}: kubectl' + ${namespace} + ' label ' + request.resource.resource + ' ' + request.name + ' ${ADOPT}=true'`,
  };
};
