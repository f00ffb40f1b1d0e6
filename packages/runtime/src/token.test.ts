import { inspect } from 'node:util';
import { beforeEach, expect, test } from 'vitest';
import { next, Scope } from '../test/fixture.ts';
import { openToken } from './index.ts';

let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

test('S2.11: the next request carries the new token; a failed read keeps the last one', async () => {
  const volume = scope.volume({ token: 'first\n' });
  const token = await openToken(volume.path('token'), { signal: scope.signal });
  expect(token.value()).toBe('first');
  const reloaded = next(token as never, 'reloaded');
  volume.write({ token: 'second' });
  await reloaded;
  expect(token.value()).toBe('second');
  for (const [bad, code] of [
    ['', 'FILE_EMPTY'],
    ['two\r\nx-evil: lines', 'TOKEN_MALFORMED'],
    [Buffer.alloc(70_000, 'x'), 'FILE_TOO_LARGE'],
  ] as const) {
    volume.write({ token: bad });
    expect(await token.reload()).toMatchObject({ error: { code } });
    expect(token.value()).toBe('second');
  }
  volume.write({});
  expect(await token.reload()).toMatchObject({ reason: 'read_error' });
  expect(token.value()).toBe('second');
});

test('a token shows up in nothing that is printed', async () => {
  const volume = scope.volume({ token: 'very-secret' });
  const token = await openToken(volume.path('token'), { signal: scope.signal });
  const shown = [
    JSON.stringify(token),
    inspect(token, { depth: 10 }),
    JSON.stringify(token.status()),
    `${token}`,
  ];
  expect(shown.join()).not.toContain('very-secret');
  expect(token.status().hash).toBeUndefined();
});
