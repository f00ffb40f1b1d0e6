import type { z } from 'zod';

/** Levenshtein distance with transpositions as one step: `confgiMap` is one slip away, not two. */
const distance = (a: string, b: string): number => {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      }
      next.push(best);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
};

/** The one candidate that was probably meant. Case and a missing or extra part of a word are forgiven. */
export const didYouMean = (written: string, candidates: readonly string[]): string | undefined => {
  const low = written.toLowerCase();
  if (low.length === 0 || low.length > 64) return undefined;
  let best: string | undefined;
  let least = Math.max(1, Math.floor(low.length / 3)) + 1;
  for (const candidate of candidates) {
    const known = candidate.toLowerCase();
    const part = low.length >= 3 && (known.includes(low) || (known.length >= 3 && low.includes(known)));
    const cost = part ? Math.min(1, distance(low, known)) : distance(low, known);
    if (cost < least) [best, least] = [candidate, cost];
  }
  return best;
};

/** Of a URL, what stands before the host is a user and often a password. */
const withoutPassword = (value: string): string => value.replace(/^([a-z][a-z0-9+.-]*:\/\/).*@/is, '$1…@');

/** A value as it may stand in a message: one line, short, and never key material. */
export const shown = (value: unknown): string => {
  if (typeof value === 'string') {
    if (/PRIVATE KEY/.test(value)) return '[private key]';
    const text = withoutPassword(value);
    return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
  }
  if (Array.isArray(value)) return 'a list';
  if (value === null) return 'null';
  return typeof value === 'object' ? 'a map' : String(value).slice(0, 60);
};

export const pathText = (path: readonly PropertyKey[]): string => {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(String(part)))
      text += text === '' ? String(part) : `.${String(part)}`;
    else text += `[${shown(String(part))}]`;
  }
  return text;
};

/** What is allowed, after a suggestion if one of them is close. */
export const oneOf = (written: unknown, allowed: readonly string[]): string => {
  const meant = typeof written === 'string' ? didYouMean(written, allowed) : undefined;
  return meant === undefined
    ? `use ${allowed.join(', ')}`
    : `did you mean ${meant}? Allowed: ${allowed.join(', ')}`;
};

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a string',
  array: 'a list',
  object: 'a map of fields',
  record: 'a map of strings',
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
};

const unitOf: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: [' character', ' characters'],
  array: [' entry', ' entries'],
  record: [' entry', ' entries'],
};

/** The default wording; schemas that know better bring their own. */
export const messageFor = (issue: z.core.$ZodRawIssue): string | undefined => {
  const got = shown(issue.input);
  switch (issue.code) {
    case 'invalid_type': {
      const expected = EXPECTED[issue.expected] ?? issue.expected;
      if (issue.input === undefined) return `is missing; give ${expected}`;
      const quote = issue.expected === 'string' && typeof issue.input !== 'object' ? ', in quotes' : '';
      return `${got} is not ${expected}; give ${expected}${quote}`;
    }
    case 'invalid_value': {
      const allowed = issue.values.map(String);
      return issue.input === undefined
        ? `is missing; use ${allowed.join(', ')}`
        : `${got} is not allowed; ${oneOf(issue.input, allowed)}`;
    }
    case 'too_small':
    case 'too_big': {
      const bound = String(issue.code === 'too_small' ? issue.minimum : issue.maximum);
      const word = issue.code === 'too_small' ? 'at least' : 'at most';
      const value = typeof issue.input === 'number' ? `${got} is out of bounds` : 'has the wrong length';
      const [one, many] = unitOf[issue.origin] ?? ['', ''];
      return `${value}; ${word} ${bound}${bound === '1' ? one : many} allowed`;
    }
    default:
      return undefined;
  }
};
