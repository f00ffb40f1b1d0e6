import { expect, test } from 'vitest';
import { printable, printableIn, withoutControls } from './printable.ts';

/** Sets the window's title, clears the screen, goes up a line, turns text around, hides a space, and an 8-bit escape. */
const HOSTILE = '\u001b]0;mine\u0007\u001b[2J\u001b[1A\r\u202egnp\u2066\u061c\ufeff\u009b31m';

test('a text of others has no character left that controls a terminal or turns text around', () => {
  expect(printable(HOSTILE)).toBe('?]0;mine??[2J?[1A??gnp????31m');
  expect(printable('prod/web: Größe 漢字 ✓')).toBe('prod/web: Größe 漢字 ✓');
});

test('every text in a document is cleaned, names of fields too; all else stays as it is', () => {
  const document = { a: [HOSTILE, 1, null, true, { [`k${HOSTILE}`]: undefined }] };
  expect(JSON.stringify(printableIn(document))).not.toMatch(/\\u/);
  expect(printableIn({ at: 1, none: null, list: [false, 'x'] })).toEqual({
    at: 1,
    none: null,
    list: [false, 'x'],
  });
});

test('an output keeps its lines and our own colours, and shows what is left of others as an escape, so that JSON stays the same', () => {
  const line = '\u001b[32mStable\u001b[0m\n\tx\r\n';
  expect(withoutControls(line, true)).toBe(line);
  expect(withoutControls('\r\u001b[Kwaits\u001b[H\u001b[2J', true)).toBe('\r\u001b[Kwaits\u001b[H\u001b[2J');
  expect(withoutControls('\u001b[32mx', false)).toBe('\\u001b[32mx');
  expect(withoutControls('\u001b]0;t\u0007\u009b\u202e', true)).toBe('\\u001b]0;t\\u0007\\u009b\\u202e');
  const json = JSON.stringify({ [HOSTILE]: HOSTILE });
  expect(JSON.parse(withoutControls(json, false))).toEqual({ [HOSTILE]: HOSTILE });
});
