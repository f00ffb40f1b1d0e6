import { expect, test } from 'vitest';
import { FairSemaphore } from './fair-semaphore.ts';

/** Work that lasts until `end`. */
const stage = (semaphore: FairSemaphore) => {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = (name: string): Promise<void> =>
    semaphore.take(name.split(' ')[0] ?? '', async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { begun, begin, end };
};

test('one share takes only its own places and leaves the rest free', async () => {
  const { begun, begin, end } = stage(new FairSemaphore({ inAll: 3, each: 2 }));
  const all = ['evil 1', 'evil 2', 'evil 3', 'prod 1'].map(begin);
  await new Promise(setImmediate);
  expect(begun).toEqual(['evil 1', 'evil 2', 'prod 1']);
  for (const name of ['evil 1', 'evil 2', 'prod 1']) await end(name);
  expect(begun.at(-1)).toBe('evil 3');
  await end('evil 3');
  await Promise.all(all);
});

test('when every place is taken, waiting shares get places in turn, not in order of arrival', async () => {
  const { begun, begin, end } = stage(new FairSemaphore({ inAll: 1, each: 1 }));
  const names = ['evil 1', 'evil 2', 'evil 3', 'evil 4', 'prod 1', 'test 1'];
  const all = names.map(begin);
  await new Promise(setImmediate);
  for (let turn = 0; turn < names.length; turn++) await end(begun[turn] ?? 'nothing begun');
  expect(begun).toEqual(['evil 1', 'evil 2', 'prod 1', 'test 1', 'evil 3', 'evil 4']);
  await Promise.all(all);
});

test('work that throws frees its place', async () => {
  const semaphore = new FairSemaphore({ inAll: 1, each: 1 });
  await expect(semaphore.take('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await semaphore.take('a', async () => 'next')).toBe('next');
});
