import { instant, minute } from '@handover/material';
import { expect, test } from 'vitest';
import { handover, NOW } from '../../test/capture.ts';
import { authority, homeWith, leaf } from '../../test/home.ts';

test('rotate that is typed again goes on with the rotation of before, and asks for another one once that is over', async () => {
  const home = homeWith(authority('mesh', { rotation: '{reloadWithin: 5m}' }), leaf('mesh'));
  const at = (minutes: number, ...args: readonly string[]) =>
    handover([...args, '--home', `dir:${home}`], { now: instant(NOW + minutes * minute) });
  await handover(['run', home, '--once']);
  const idOf = ({ stdout }: { readonly stdout: string }): string | undefined =>
    /rotation (\S+) of/.exec(stdout)?.[1];
  const first = idOf(await at(1, 'rotate', 'mesh'));
  expect(first).toMatch(/^asked-/);
  const second = await at(2, 'rotate', 'mesh');
  expect(idOf(second)).toBe(first);
  expect(second.stderr).toContain(`going on with rotation ${first}`);
  expect(idOf(await at(2, 'rotate', 'mesh', '--id', 'mine'))).toBe('mine');
  for (const minutes of [20, 40, 60, 80])
    await handover(['run', home, '--once'], { now: instant(NOW + minutes * minute) });
  const third = await at(100, 'rotate', 'mesh');
  expect(idOf(third)).toMatch(/^asked-/);
  expect(idOf(third)).not.toBe(first);
});

test('rotate --cancel takes back what has not begun, and says what goes on', async () => {
  const home = homeWith(authority('mesh', { rotation: '{reloadWithin: 5m}' }), leaf('mesh'));
  const at = (minutes: number, ...args: readonly string[]) =>
    handover(['rotate', 'mesh', ...args, '--home', `dir:${home}`], { now: instant(NOW + minutes * minute) });
  await handover(['run', home, '--once']);
  expect(await at(1, '--cancel')).toMatchObject({
    code: 0,
    stdout: 'no rotation of default/mesh waits to begin\n',
  });
  await at(2, '--id', 'first');
  await at(2, '--id', 'second');
  const { stdout } = await at(3, '--cancel');
  expect(stdout).toBe(
    'rotation second of default/mesh is taken back, and had not begun; rotation first has begun and goes on (spec.rotation.paused: true holds its next step)\n',
  );
  expect(JSON.parse((await at(3, '--cancel', '--json')).stdout)).toEqual({
    authority: 'default/mesh',
    dropped: [],
    underWay: 'first',
  });
  for (const minutes of [20, 40, 60, 80])
    await handover(['run', home, '--once'], { now: instant(NOW + minutes * minute) });
  expect(JSON.parse((await at(90, '--cancel', '--json')).stdout)).toMatchObject({ underWay: null });
  expect(await at(90, '--cancel', '--id', 'x')).toMatchObject({ code: 2 });
});
