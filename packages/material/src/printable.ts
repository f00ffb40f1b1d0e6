import { isMap } from './json.ts';

/** C0 and C1, and what turns or hides text: a name could paint over what stands beside it. */
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not get through
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Text that others wrote, as one line: characters that could control a terminal are shown as `?`. */
export const printable = (text: string): string => text.replace(CONTROLS, '?');

/** The same for every text in a document. */
export const printableIn = <T>(value: T): T => cleaned(value) as T;

const cleaned = (value: unknown): unknown => {
  if (typeof value === 'string') return printable(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [printable(key), cleaned(inner)]));
};

/** What our own lines paint with: colours, and the ways to begin a line or a screen again. */
const OWN = String.raw`\r?\u001b\[(?:\d{1,2}m|K|H|2J)|\r(?=\n)`;
const UNCLEAN = new RegExp(`${OWN}|(?![\\t\\n])${CONTROLS.source}`, 'g');

/**
 * The last guard of an output: what is left of foreign control characters is shown as in a JSON text, `\u009b`, so that a JSON document stays the
 * same. `paints`: whether our own colours may be among it.
 */
export const withoutControls = (text: string, paints: boolean): string =>
  text.replace(UNCLEAN, (found) => {
    if (found === '\r' || (paints && found.length > 1)) return found;
    return found.replace(CONTROLS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
  });
