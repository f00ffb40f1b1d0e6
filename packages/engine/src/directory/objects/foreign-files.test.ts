import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, type HandoverError, second } from '@handover/material';
import { expect, test } from 'vitest';
import {
  ALL,
  BINARY,
  CONSENT,
  directories,
  factsOf,
  folderFacts,
  folderOf,
  pass,
  put,
  testKills,
  theirs,
  world,
} from '../../../test/foreign-folder.ts';
import { MESH } from '../../../test/world.ts';
import { passOnce, runDirectory } from '../../index.ts';

testKills(7); // each of them in tier system

test.each([
  [
    'a file of another program',
    ALL,
    ['dhparam.bin'],
    /holds files that handover did not write \(dhparam\.bin\)/,
  ],
  ['only files of another program', [], ['a', 'b', 'c', 'd'], /\(a, b, c and 1 more\)/],
  [
    'a certificate, its key and its CA, and nothing else',
    ALL,
    [],
    /holds files of another program \(ca\.crt, tls\.crt, tls\.key\)/,
  ],
  ['a certificate and key without their CA', ['tls.crt', 'tls.key'], [], /another issuer without its CA/],
])(
  'a folder with %s stays byte for byte without consent, and the obstacle says what to do',
  async (_what, names, more, says) => {
    const home = world(MESH, names, more);
    const before = folderFacts(home);
    await pass(home);
    directories.now = after(directories.now, 30 * second);
    await pass(home);
    expect(folderFacts(home)).toEqual(before);
    const stored = await directories.home(home).objects.read('default/secrets/a');
    expect(stored?.obstacle).toMatch(says);
    expect(stored?.obstacle).toContain(folderOf(home));
    expect(stored?.obstacle).toContain('handover.dev/adopt: "true"');
    const once = directories.home(home);
    await expect(passOnce(once, once.load(), () => {})).rejects.toMatchObject({ code: 'OBJECT_OBSTACLE' });
    const said: string[] = [];
    const stop = new AbortController();
    await runDirectory(
      once,
      (event) => {
        if (event.kind !== 'failed') return;
        said.push(`${event.what} ${(event.error as HandoverError).message}`);
        stop.abort();
      },
      stop.signal,
    );
    expect(said[0]).toContain(`default/secrets/a: ${folderOf(home)} holds`);
    expect(folderFacts(home)).toEqual(before);
  },
);

test('files of a folder whose Leaf consents are replaced if they are known, and every other file stays as it was', async () => {
  const home = world(CONSENT.replace('adopt: {secret: a}, ', ''), ['tls.crt', 'tls.key']);
  const before = factsOf(join(folderOf(home), 'dhparam.bin'));
  await pass(home);
  const leaf = readFileSync(join(folderOf(home), 'tls.crt'), 'utf8');
  expect(leaf).not.toBe(theirs.get('tls.crt'));
  await directories.home(home).requests.ask({ authority: 'default/mesh', rotate: 'r' });
  for (let step = 0; step < 4; step++) {
    await pass(home);
    directories.now = after(directories.now, 30 * second);
  }
  expect(readFileSync(join(folderOf(home), 'tls.crt'), 'utf8')).not.toBe(leaf);
  expect(factsOf(join(folderOf(home), 'dhparam.bin'))).toEqual(before);
});

test('a folder in the kubelet’s layout whose Leaf consents keeps its other files, too', async () => {
  const home = world(CONSENT, [], []);
  const snapshot = join(folderOf(home), '..2020_01_01');
  mkdirSync(snapshot);
  symlinkSync('..2020_01_01', join(folderOf(home), '..data'));
  for (const [name, text] of theirs) put(join(snapshot, name), text, 0o640);
  put(join(snapshot, 'dhparam.bin'), BINARY, 0o640);
  for (const name of [...ALL, 'dhparam.bin']) symlinkSync(`..data/${name}`, join(folderOf(home), name));
  const before = factsOf(join(folderOf(home), 'dhparam.bin'));
  for (let step = 0; step < 3; step++) {
    await pass(home);
    directories.now = after(directories.now, 30 * second);
  }
  expect(readFileSync(join(folderOf(home), 'tls.crt'), 'utf8')).not.toBe(theirs.get('tls.crt'));
  expect(existsSync(snapshot)).toBe(false);
  expect(factsOf(join(folderOf(home), 'dhparam.bin'))).toEqual(before);
});

test('A file that is added beside ours later stays through every write', async () => {
  const home = directories.make();
  await pass(home);
  const path = join(folderOf(home), 'dhparam.bin');
  put(path, BINARY, 0o600);
  mkdirSync(join(folderOf(home), '..theirs'));
  const before = factsOf(path);
  await directories.home(home).requests.ask({ authority: 'default/mesh', rotate: 'r' });
  for (let step = 0; step < 4; step++) {
    await pass(home);
    directories.now = after(directories.now, 30 * second);
  }
  expect(factsOf(path)).toEqual(before);
  expect(existsSync(join(folderOf(home), '..theirs'))).toBe(true);
});

test('A snapshot link that leads out of its folder is refused', async () => {
  const home = directories.make();
  mkdirSync(folderOf(home), { recursive: true });
  symlinkSync('../../../../..', join(folderOf(home), '..data'));
  await expect(pass(home)).rejects.toMatchObject({ code: 'HOME_MALFORMED' });
});
