import { HandoverError } from '@handover/material';
import { afterAll, expect, test } from 'vitest';
import { Directories, loaded } from '../../test/directories.ts';
import { MESH } from '../../test/world.ts';
import { converge, type DirectoryHome, observeAnew, type ReloadHooks } from '../index.ts';
import type { Responsibilities } from '../look/responsibilities.ts';
import type { TellOptions } from './tell.ts';

const directories = new Directories();
afterAll(() => directories.end());

test('programs that take all the time of a pass to be told leave the rest to the next one', async () => {
  const path = directories.make(
    MESH.replaceAll('spec: {authority: mesh,', 'spec: {authority: mesh, reload: {command: [x]},'),
  );
  const told: string[] = [];
  const remembered = new Map<string, never>();
  const home = directories.home(path, undefined, {
    telling: { budgetMs: 0, atOnce: 1 },
    reloads: {
      told: async (id) => remembered.get(id),
      tell: async (id, _leaf, { version }) => {
        told.push(id);
        remembered.set(id, { version } as never);
      },
    },
  });
  const { responsibilities } = await observeAnew(loaded(home).fresh, 'default/mesh');
  await converge({ ...loaded(home), teller: undefined }, 'default/mesh');
  expect(await home.teller.tell(home, responsibilities)).toEqual([
    expect.stringMatching(/^default\/secrets\/b and those after it: not told yet/),
  ]);
  expect(told).toEqual(['default/secrets/a']);
  expect(await home.teller.tell(home, responsibilities)).toEqual([]);
  expect(told).toEqual(['default/secrets/a', 'default/secrets/b']);
});

/** Two programs, `a` and `b`, with files that none of them was told of. */
const untold = async (
  tell: ReloadHooks['tell'],
  telling: TellOptions = {},
): Promise<{ home: DirectoryHome; responsibilities: Responsibilities }> => {
  const path = directories.make(
    MESH.replaceAll('spec: {authority: mesh,', 'spec: {authority: mesh, reload: {command: [x]},'),
  );
  const home = directories.home(path, undefined, {
    reloads: { told: async () => undefined, tell },
    telling,
  });
  const { responsibilities } = await observeAnew(loaded(home).fresh, 'default/mesh');
  await converge({ ...loaded(home), teller: undefined }, 'default/mesh');
  return { home, responsibilities };
};

test('a program that hangs holds up no other', async () => {
  let release = (): void => {};
  const hung = new Promise<void>((resolve) => {
    release = resolve;
  });
  let heard = (): void => {};
  const b = new Promise<void>((resolve) => {
    heard = resolve;
  });
  const { home, responsibilities } = await untold(async (id) =>
    id === 'default/secrets/a' ? hung : heard(),
  );
  const telling = home.teller.tell(home, responsibilities);
  await b;
  release();
  expect(await telling).toEqual([]);
});

test('a program that failed is told after those that have not been tried, and rests for longer than it took', async () => {
  const tried: string[] = [];
  let now = 0;
  const { home, responsibilities } = await untold(
    async (id) => {
      tried.push(id);
      if (id !== 'default/secrets/a') return;
      now += 50;
      throw new HandoverError('RELOAD_FAILED', 'no answer');
    },
    { atOnce: 1, slowMs: 20, now: () => now },
  );
  const tell = () => home.teller.tell(home, responsibilities);
  const said = 'default/secrets/a: no answer';
  expect(await tell()).toEqual([said]);
  expect(await tell()).toEqual([said]);
  expect(tried).toEqual(['default/secrets/a', 'default/secrets/b', 'default/secrets/b']);
  now += 449;
  expect(await tell()).toEqual([said]);
  expect(tried.slice(3)).toEqual(['default/secrets/b']);
  now += 1;
  expect(await tell()).toEqual([said]);
  expect(tried.slice(4)).toEqual(['default/secrets/b', 'default/secrets/a']);
});
