import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DirectoryHome } from '@handover/engine';
import { systemClock } from '@handover/runtime/clock';
import { beforeAll, expect, test } from 'vitest';
import { authority, homeWith, leaf, shell } from '../test/home.ts';
import { build, eventually, folder, handoverAs, SOON_MS, start } from '../test/real-process.ts';

beforeAll(build, 120_000);

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
};

const pidsIn = (file: string): readonly number[] => readFileSync(file, 'utf8').trim().split('\n').map(Number);

/** Writes its own pid and that of a child, then waits for the child. */
const hanging = (pids: string): string =>
  shell(`trap "" TERM; echo $$ > ${pids}.1; sleep 300 & echo $! >> ${pids}.1; mv ${pids}.1 ${pids}; wait`);

const stateOf = (home: string, name: string): string => {
  const file = join(home, `state/authorities/default/${name}.json`);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};

test('a hook that hangs delays no other authority and no rotation', async () => {
  const pids = join(folder(), 'pids');
  const home = homeWith(
    authority('bad'),
    leaf('bad', { reload: hanging(pids) }),
    authority('good'),
    leaf('good'),
  );
  const running = start(['run', home]);
  await eventually('the hook', () => existsSync(pids));
  const { requests } = new DirectoryHome(home, { timers: systemClock });
  for (const id of ['first', 'second']) {
    await requests.ask({ authority: 'default/good', rotate: id });
    await eventually(`rotation ${id}`, () => stateOf(home, 'good').includes(`"${id}"`));
  }
  await requests.ask({ authority: 'default/bad', rotate: 'own' });
  await eventually('the rotation of its own authority', () => stateOf(home, 'bad').includes('"own"'));
  expect(pidsIn(pids).every(isAlive)).toBe(true);
  running.child.kill('SIGTERM');
  await running.ended(SOON_MS);
});

test('a hook that hangs delays no other Leaf of its Authority', async () => {
  const at = folder();
  const [pids, ran] = [join(at, 'pids'), join(at, 'ran')];
  const other = leaf('other', { authority: 'bad', reload: shell(`echo ran > ${ran}`) });
  const running = start(['run', homeWith(authority('bad'), leaf('bad', { reload: hanging(pids) }), other)]);
  await eventually('the hook', () => existsSync(pids));
  await eventually('the hook of the other Leaf', () => existsSync(ran));
  expect(pidsIn(pids).every(isAlive)).toBe(true);
  running.child.kill('SIGTERM');
  await running.ended(SOON_MS);
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  'a hook that hangs ends with its children when run gets %s',
  async (signal) => {
    const pids = join(folder(), 'pids');
    const running = start(['run', homeWith(authority('bad'), leaf('bad', { reload: hanging(pids) }))]);
    await eventually('the hook', () => existsSync(pids));
    running.child.kill(signal);
    expect(await running.ended(SOON_MS)).toMatchObject({ code: 0 });
    await eventually('the end of its processes', () => !pidsIn(pids).some(isAlive));
  },
);

test('a hook that hangs ends with its children when run --once is interrupted', async () => {
  const pids = join(folder(), 'pids');
  const running = start([
    'run',
    homeWith(authority('bad'), leaf('bad', { reload: hanging(pids) })),
    '--once',
  ]);
  await eventually('the hook', () => existsSync(pids));
  running.child.kill('SIGINT');
  await running.ended(SOON_MS);
  await eventually('the end of its processes', () => !pidsIn(pids).some(isAlive));
});

test('a hook has ended when its program has, even if a child still holds its stderr', async () => {
  const home = homeWith(authority('web'), leaf('web', { reload: shell('sleep 30 & exit 0') }));
  expect(await start(['run', home, '--once']).ended(SOON_MS)).toMatchObject({ code: 0 });
  const failing = homeWith(
    authority('web'),
    leaf('web', { reload: shell('echo no such site >&2; sleep 30 & exit 3') }),
  );
  expect(await start(['run', failing, '--once']).ended(SOON_MS)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^RELOAD_FAILED: .*Leaf default\/web.*ended with 3.*no such site/),
  });
});

test('a hook program that does not exist is reported at once, beside one that hangs', async () => {
  const pids = join(folder(), 'pids');
  const home = homeWith(
    authority('bad'),
    leaf('bad', { reload: hanging(pids) }),
    authority('web'),
    leaf('web', { reload: '{command: [no-such-program]}' }),
  );
  const running = start(['run', home]);
  await eventually('a word about it', () => running.said().includes('no-such-program'));
  running.child.kill('SIGTERM');
  await running.ended(SOON_MS);
});

test('run --once exits 1 if a hook failed, and 0 when it works again', async () => {
  const works = join(folder(), 'works');
  const home = homeWith(authority('web'), leaf('web', { reload: shell(`test -e ${works}`) }));
  const failed = await handoverAs(['run', home, '--once']);
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/^RELOAD_FAILED: [^\n]*\n$/) });
  writeFileSync(works, '');
  expect(await handoverAs(['run', home, '--once'])).toMatchObject({ code: 0, stderr: '' });
  rmSync(works);
  expect(await handoverAs(['run', home, '--once'])).toMatchObject({ code: 0 });
});

test('reload during run is carried out by run, also for a bundle', async () => {
  const home = homeWith(
    authority('web', { bundle: `{configMapName: web-trust, reload: ${shell('echo bundle >> ran')}}` }),
    leaf('web', { reload: shell('echo leaf >> ran; test -e works') }),
  );
  const running = start(['run', home]);
  const ran = (what: string): number =>
    existsSync(join(home, 'ran')) ? readFileSync(join(home, 'ran'), 'utf8').split(what).length - 1 : 0;
  await eventually('the first hooks', () => ran('leaf') > 0 && ran('bundle') > 0);
  const before = ran('bundle');
  expect(await handoverAs(['reload', '--authority', 'web', '--home', `dir:${home}`])).toMatchObject({
    code: 0,
  });
  expect(ran('bundle')).toBe(before + 1);
  expect(await handoverAs(['reload', 'web', '--home', `dir:${home}`])).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('ended with 1'),
  });
  writeFileSync(join(home, 'works'), '');
  expect(await handoverAs(['reload', 'web', '--home', `dir:${home}`])).toMatchObject({ code: 0 });
  running.child.kill('SIGTERM');
  await running.ended(SOON_MS);
});
