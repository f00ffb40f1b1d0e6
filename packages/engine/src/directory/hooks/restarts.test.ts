import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { day, duration } from '@handover/material';
import { expect, test, vi } from 'vitest';
import { loaded } from '../../../test/directories.ts';
import {
  HookHomes,
  hookOf,
  MESH,
  pass,
  phaseOf,
  RESTARTS,
  restart,
  said,
  yamlOf,
} from '../../../test/hook-home.ts';
import { statusOf } from '../../index.ts';

const homes = new HookHomes();

test('a program that is restarted restarts once per rotation, which ends at once, and not at its first installation', async () => {
  const home = homes.with({ leaf: RESTARTS, own: RESTARTS });
  await pass(home);
  expect(said(home)).toEqual([]);
  expect(await hookOf(home)).toMatchObject({ state: 'idle' });
  homes.later(1_000);
  await home.requests.ask({ authority: MESH, rotate: 'r' });
  await pass(home);
  // The shared bundle has readers of its own, which rest on reloadWithin.
  homes.later(30_000);
  await pass(home);
  homes.later(1_000);
  await pass(home);
  homes.later(30_000);
  await pass(home);
  expect(await phaseOf(home)).toBe('Stable');
  expect([...said(home)].sort()).toEqual([
    'restart for leaf,trust of generation 2',
    'restart for trust of generation 2',
  ]);
});

test('a program that is restarted is what a rotation waits for, and its restart is the evidence', async () => {
  const works = 'test -e works && echo restarted >> said';
  const home = homes.with({ leaf: restart(`${works} || { echo no database >&2; exit 1; }`) });
  await pass(home);
  await home.requests.ask({ authority: MESH, rotate: 'r' });
  for (let passes = 0; passes < 3; passes++) {
    homes.later(400_000);
    await pass(home);
  }
  const [stuck] = (await statusOf(loaded(home).fresh)).authorities;
  expect(stuck).toMatchObject({ phase: 'Activating', hooks: [{ state: 'failed', how: 'restart' }] });
  expect(stuck?.blockedBy.map(({ consumer }) => consumer)).toContain('program of Leaf default/web');
  expect(stuck?.notes.join()).toContain('its restart failed: sh ended with 1, stderr: "no database"');
  writeFileSync(join(home.path, 'works'), '');
  homes.later(400_000);
  await pass(home);
  const [freed] = (await statusOf(loaded(home).fresh)).authorities;
  expect(freed).toMatchObject({ phase: 'Stable', hooks: [{ state: 'done', exitCode: 0 }] });
  expect(freed?.consumers).toContainEqual(
    expect.objectContaining({ name: 'program of Leaf default/web', evidence: 'restarted' }),
  );
  expect(said(home)).toEqual(['restarted']);
});

test('a program that is restarted restarts in each rotation although its record was copied from another machine', async () => {
  const home = homes.with({ leaf: RESTARTS });
  await pass(home);
  await homes.rotate(home, 'r');
  const [name = ''] = readdirSync(join(home.state, 'reloads'));
  const file = join(home.state, 'reloads', name);
  const copied = readFileSync(file, 'utf8').replaceAll(/2\.0\.2-[^"]*/g, '7.0.7-12345678');
  writeFileSync(file, copied);
  for (const id of ['s', 't']) await homes.rotate(home, id);
  expect(copied).toContain('7.0.7');
  // The program that the other machine restarted is restarted here once more.
  expect(said(home)).toEqual([
    'restart for leaf,trust of generation 2',
    'restart for trust of generation 2',
    'restart for leaf,trust of generation 3',
    'restart for leaf,trust of generation 4',
  ]);
});

test('a program that is restarted restarts after a renewal', async () => {
  const home = homes.with({ leaf: RESTARTS, leafLifetime: '30d' });
  await pass(home);
  homes.later(21 * day);
  await pass(home);
  expect(said(home)).toEqual(['restart for leaf,trust of generation 1']);
  homes.later(duration(day));
  await pass(home);
  expect(said(home)).toHaveLength(1);
});

test('a program that is restarted and has a probe is judged by the probe for its leaf, and not asked for trust before the restart', async () => {
  const consumers = '{name: web, presents: true, verifies: true, leaf: web, probe: {address: "127.0.0.1:1"}}';
  const home = homes.with({ leaf: RESTARTS, consumers });
  await pass(home);
  await home.requests.ask({ authority: MESH, rotate: 'r' });
  await pass(home);
  homes.later(30_000);
  await pass(home);
  homes.later(400_000);
  await pass(home);
  const [stuck] = (await statusOf(loaded(home).fresh)).authorities;
  expect(stuck?.phase).toBe('Activating');
  expect(said(home)).toEqual(['restart for leaf,trust of generation 2']);
  expect(stuck?.blockedBy).toMatchObject([
    { consumer: 'web', waitsFor: expect.stringMatching(/a leaf of CA generation 2.*127\.0\.0\.1:1/) },
  ]);
});

test('a program that is restarted holds up no consumer that reloads its files by itself before the restart', async () => {
  const consumers = '{name: client, presents: true, verifies: true}';
  const other =
    '\n---\napiVersion: handover.dev/v1alpha1\nkind: Leaf\nmetadata: {name: other}\nspec: {authority: mesh, dnsNames: [other]}';
  const path = homes.make(`${yamlOf({ leaf: RESTARTS, consumers })}${other}`);
  const home = homes.home(path);
  await pass(home);
  await homes.rotate(home, 'r');
  expect(said(home)).toEqual(['restart for leaf,trust of generation 2']);
});

test('a program that is restarted by systemd has its unit named to systemctl as an argument', async () => {
  const bin = join(homes.make(undefined), 'bin');
  mkdirSync(bin, { mode: 0o755 });
  writeFileSync(join(bin, 'systemctl'), '#!/bin/sh\necho "$@" >> said\n', { mode: 0o755 });
  vi.stubEnv('PATH', `${bin}:${process.env.PATH}`);
  try {
    const home = homes.with({
      leaf: '{systemd: {unit: redis@6379.service, action: restart}}',
      own: '{systemd: {unit: haproxy}}',
      bundle: '{systemd: {unit: nginx, action: try-reload-or-restart}}',
    });
    await pass(home);
    expect([...said(home)].sort()).toEqual(['reload -- haproxy', 'try-reload-or-restart -- nginx']);
    await homes.rotate(home, 'r');
    expect(said(home).filter((line) => line.startsWith('restart'))).toEqual([
      'restart -- redis@6379.service',
    ]);
  } finally {
    vi.unstubAllEnvs();
  }
});
