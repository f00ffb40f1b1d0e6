import { expect, test } from 'vitest';
import { firstAndLast } from './process-group.ts';

test('what a hook wrote is told by its first lines and its last', () => {
  expect(firstAndLast('', '')).toBe('');
  expect(firstAndLast('no such unit\n', '')).toBe('no such unit');
  expect(firstAndLast('a\n\n b\nc\nd\n', '')).toBe('a / b / c / d');
  expect(firstAndLast('cause\nb\nc\nd\ne\nf', 'g\nresult\n')).toBe('cause / b / c / … / result');
  expect(firstAndLast(`${'x'.repeat(9_000)}\nlast`, '').length).toBeLessThan(250);
});

test('nothing between PEM markers is told, also where their end is missing', () => {
  const key = '-----BEGIN PRIVATE KEY-----\nAwEHoUQDQgAE\nAbc=\n';
  expect(firstAndLast(`cannot use\n${key}-----END PRIVATE KEY-----\nbye\n`, '')).toBe(
    'cannot use / […] / bye',
  );
  expect(firstAndLast(`cannot use\n${key}`, 'more\n')).toBe('cannot use / […]');
});
