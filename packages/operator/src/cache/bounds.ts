import { ANNOTATIONS, DISTRUST, ROTATE, TRUST_HASH } from '@handover/core';
import { isMap } from '@handover/material';

/** A sentence that others wrote, such as the message of a condition. */
export const MOST_SAID = 300;
/** Names of API objects and of keys in them have no more characters: what is longer names nothing. */
export const MOST_NAME = 253;
const MOST_VALUE = 1_024;
/** The stamps of all authorities that a workload reads from stand in one annotation, and so do all rotations that were asked for. */
const MOST_LIST = 16_384;
/** Half an entry of these would be another one: what is longer counts for nothing. */
const REQUESTS: ReadonlySet<string> = new Set([ROTATE, DISTRUST]);
const MOST_LABELS = 8_192;

/** The beginning of a text, as a copy: V8 keeps the whole of a string for as long as a slice of it is kept, and a short text may hold such a slice. */
export const beginningOf = (text: string, most: number): string =>
  Buffer.from(text.slice(0, most)).toString();

/** The same, for people. */
export const cut = (text: string, most: number): string =>
  text.length <= most ? beginningOf(text, most) : `${beginningOf(text, most - 1)}…`;

/** A text that is short enough to be what it should be, or none: the beginning of a name names something else. */
export const textOf = (value: unknown, most = MOST_NAME): string | undefined =>
  typeof value === 'string' && value.length <= most ? value : undefined;

const keptValue = (name: string, value: string): readonly string[] => {
  if (REQUESTS.has(name)) return value.length > MOST_LIST ? [] : [value];
  return [cut(value, name === TRUST_HASH ? MOST_LIST : MOST_VALUE)];
};

/** Names of the annotations that are read on such an object, by the table that the reference is made from. */
const namesOn = (what: RegExp): ReadonlySet<string> =>
  new Set(ANNOTATIONS.flatMap(({ is, on, name }) => (is === 'annotation' && what.test(on) ? [name] : [])));

const NAMES = {
  pod: namesOn(/\bpod\b/),
  workload: namesOn(/\bworkload\b/),
  resource: namesOn(/\b(Authority|Leaf|TrustBundle|TLSProfile)\b/),
  object: namesOn(/\b(Secret|ConfigMap|webhook configurations)\b/),
} as const;

/** The annotations that say something to us on such an object, each as long as it can have a meaning. */
export const knownAnnotations = (
  what: keyof typeof NAMES,
  annotations: unknown,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(annotations ?? {}).flatMap(([name, value]: [string, unknown]) =>
      NAMES[what].has(name) && typeof value === 'string'
        ? keptValue(name, value).map((kept) => [name, kept])
        : [],
    ),
  );

/** What an item takes up beside its texts. */
const EACH = 32;

/** As many of them, from the first, as have no more characters together. */
export const upTo = <T>(most: number, items: readonly T[], lengthOf: (item: T) => number): readonly T[] => {
  let left = most;
  return items.filter((item) => {
    const length = EACH + lengthOf(item);
    if (length > left) return false;
    left -= length;
    return true;
  });
};

/** The API server bounds a label, not how many there are. */
export const labelsOf = (labels: unknown): Readonly<Record<string, string>> => {
  const all = Object.entries(labels ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(upTo(MOST_LABELS, all, ([name, value]) => name.length + value.length));
};

/** A map of texts, such as the selector of a Service, whole or not at all: half a selector selects more than the whole. */
export const mapOf = (map: unknown): Readonly<Record<string, string>> | undefined => {
  if (!isMap(map)) return undefined;
  const all = Object.entries(map).map(([name, value]) => [name, String(value)] as const);
  const few = upTo(MOST_LABELS, all, ([name, value]) => name.length + value.length);
  return few.length === all.length ? Object.fromEntries(few) : undefined;
};

/** What made an object, as far as it can be one. */
export const makerIn = (
  owners:
    | readonly { readonly kind: string; readonly name: string; readonly controller?: boolean | undefined }[]
    | undefined,
): { readonly kind: string; readonly name: string } | undefined => {
  const owner = owners?.find(({ controller }) => controller === true);
  return owner === undefined
    ? undefined
    : { kind: cut(owner.kind, MOST_NAME), name: cut(owner.name, MOST_NAME) };
};
