import { expect, test } from 'vitest';
import { Memo } from './memo.ts';

test('a full memo forgets nothing when it is asked for known keys', () => {
  const memo = new Memo<string>(2);
  const made: string[] = [];
  const get = (key: string): string =>
    memo.get(key, () => {
      made.push(key);
      return key;
    });
  for (const key of ['a', 'b', 'b', 'a', 'b']) get(key);
  expect(made).toEqual(['a', 'b']);
  for (const key of ['c', 'a']) get(key);
  expect(made).toEqual(['a', 'b', 'c', 'a']);
});

test('a memo does not remember a failure', async () => {
  const memo = new Memo<Promise<string>>(2);
  await expect(memo.get('a', () => Promise.reject(new Error('no entropy')))).rejects.toThrow('no entropy');
  await expect(memo.get('a', () => Promise.resolve('found'))).resolves.toBe('found');
});
