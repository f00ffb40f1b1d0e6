import type { z } from 'zod';
import { didYouMean } from './did-you-mean.ts';

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
