import { afterAll, expect, test } from 'vitest';
import { Directories } from '../test/directories.ts';
import { MESH } from '../test/world.ts';
import { converge, observe } from './index.ts';
import { tellPrograms } from './tell.ts';

const directories = new Directories();
afterAll(() => directories.end());

test('programs that take all the time of a pass to be told leave the rest to the next one', async () => {
  const path = directories.make(
    MESH.replaceAll('spec: {authority: mesh,', 'spec: {authority: mesh, reload: {command: [x]},'),
  );
  const told: string[] = [];
  const remembered = new Map<string, never>();
  const home = directories.home(path, undefined, {
    reloads: {
      told: async (id) => remembered.get(id),
      tell: async (id, _leaf, { version }) => {
        told.push(id);
        remembered.set(id, { version } as never);
      },
    },
  });
  const { duties } = await observe(home, home.load(), 'default/mesh');
  await converge({ ...home, objects: home.objects, reloads: undefined }, home.load(), 'default/mesh');
  expect(await tellPrograms(home, duties, 0)).toEqual([
    expect.stringMatching(/^default\/secrets\/b and those after it: not told yet/),
  ]);
  expect(told).toEqual(['default/secrets/a']);
  expect(await tellPrograms(home, duties, 0)).toEqual([]);
  expect(told).toEqual(['default/secrets/a', 'default/secrets/b']);
});
