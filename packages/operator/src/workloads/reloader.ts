import { RELOADER } from '@handover/core';

/** Annotations by name. */
type Words = Readonly<Record<string, string>>;

/** A Secret or ConfigMap that a workload's pods read. */
export interface ReloaderObject {
  readonly plural: 'secrets' | 'configmaps';
  readonly name: string;
  readonly annotations: Words;
}

// As Go's strconv.ParseBool, which Reloader reads them with.
const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const isTrue = (text: string | undefined): boolean => TRUE.has(text ?? '');

const listed = (text: string | undefined): readonly string[] =>
  (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** Whether a name fits an entry of a list: equal, or with `.*` for any part. No expression of a stranger is ever run. */
const fits = (entry: string, name: string): boolean => {
  const [first = '', ...rest] = entry.split('.*');
  const last = rest.pop();
  if (last === undefined) return entry === name;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length >= at + last.length && name.endsWith(last);
};

/** Whether Reloader would restart a workload when this object changes. What pods carry counts only if the workload says nothing. */
export const reloaderRestarts = (onWorkload: Words, onPods: Words, object: ReloaderObject): boolean => {
  const { auto, named, excluded } = RELOADER[object.plural];
  if (object.annotations[RELOADER.ignore] === 'true') return false;
  const speaks = [RELOADER.auto, RELOADER.search, auto, named].some((name) => onWorkload[name] !== undefined);
  const words = speaks ? onWorkload : onPods;
  if (words[RELOADER.ignore] === 'true' || listed(words[excluded]).includes(object.name)) return false;
  if (isTrue(words[RELOADER.auto]) || isTrue(words[auto])) return true;
  if (listed(words[named]).some((entry) => fits(entry, object.name))) return true;
  return words[RELOADER.search] === 'true' && object.annotations[RELOADER.match] === 'true';
};

/** Stakater's own image, from whatever registry. */
export const isReloaderImage = (image: string): boolean =>
  /(^|\/)stakater\/reloader(-ubi)?([:@]|$)/.test(image);
