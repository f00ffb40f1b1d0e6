import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Lines } from './lines.ts';

const cut = (chunks: readonly Buffer[], max = 1_000): string[] => {
  const seen: string[] = [];
  const lines = new Lines(
    max,
    (line) => seen.push(line.toString('utf8')),
    () => new Error('too long'),
  );
  for (const chunk of chunks) lines.push(chunk);
  return seen;
};

test('lines are the same however the bytes arrive', () => {
  const text = fc.array(
    fc.string({ unit: 'grapheme', maxLength: 20 }).map((line) => line.replace(/\n/g, '')),
  );
  fc.assert(
    fc.property(text, fc.array(fc.nat(50)), (lines, sizes) => {
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      const chunks: Buffer[] = [];
      let at = 0;
      for (const size of sizes) {
        chunks.push(bytes.subarray(at, at + size));
        at += size;
      }
      chunks.push(bytes.subarray(at));
      expect(cut(chunks)).toEqual(lines.filter((line) => line !== ''));
    }),
  );
});

test('an endless line is refused, not kept', () => {
  expect(() => cut([Buffer.alloc(600, 'a'), Buffer.alloc(600, 'a')])).toThrow('too long');
});

test('bytes after the last newline are not a line', () => {
  expect(cut([Buffer.from('a\nb')])).toEqual(['a']);
});
