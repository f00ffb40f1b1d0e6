import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, type HandoverError, PrivateKey, parseCertificates, second } from '@handover/material';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Directories, loaded, visible } from '../../../test/directories.ts';
import { faultyFiles, Killed } from '../../../test/faulty-files.ts';
import { MESH } from '../../../test/world.ts';
import { type AuthorityOutcome, converge, type Files, passOnce, runDirectory } from '../../index.ts';

const directories = new Directories();
afterAll(() => directories.end());
const isRoot = process.getuid?.() === 0;
const OWNER = 1_234;
/** Not valid text in any encoding. */
const BINARY = Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28, 0x0a, 0x80]);
const CONSENT = MESH.replace('spec: {', 'spec: {adopt: {secret: a}, ').replaceAll(
  'kind: Leaf\nmetadata: {name: a',
  'kind: Leaf\nmetadata: {annotations: {handover.dev/adopt: "true"}, name: a',
);

const pass = async (path: string, files?: Files): Promise<AuthorityOutcome> => {
  const home = directories.home(path, files);
  const lock = await home.lock();
  try {
    return await converge(loaded(home), 'default/mesh');
  } finally {
    await lock.release();
  }
};

let theirs: ReadonlyMap<string, string>;
beforeAll(async () => {
  const donor = directories.make();
  await pass(donor);
  const { chains, keys, bundles } = visible(donor);
  theirs = new Map([
    ['tls.crt', chains.get('secrets/a') ?? ''],
    ['tls.key', keys.get('secrets/a') ?? ''],
    ['ca.crt', bundles.get('secrets/a') ?? ''],
  ]);
});

const folderOf = (home: string) => join(home, 'out/default/secrets/a');
const put = (path: string, content: string | Buffer, mode: number): void => {
  writeFileSync(path, content);
  chmodSync(path, mode);
  if (isRoot) chownSync(path, OWNER, OWNER);
};
/** A folder of another program, with a file that is not ours. */
const world = (yaml: string, names: readonly string[], more: readonly string[] = ['dhparam.bin']): string => {
  const home = directories.make(yaml);
  mkdirSync(folderOf(home), { recursive: true });
  for (const name of names) put(join(folderOf(home), name), theirs.get(name) ?? '', 0o640);
  for (const name of more) put(join(folderOf(home), name), BINARY, 0o640);
  return home;
};

/** Everything observable about a file. */
const factsOf = (path: string) => {
  const { mode, uid, gid, ino, mtimeMs } = statSync(path);
  return { mode, uid, gid, ino, mtimeMs, bytes: readFileSync(path).toString('hex') };
};
const folderFacts = (home: string) =>
  Object.fromEntries(readdirSync(folderOf(home)).map((name) => [name, factsOf(join(folderOf(home), name))]));

const ALL = ['tls.crt', 'tls.key', 'ca.crt'];

describe('Without consent', () => {
  test.each([
    [
      'a file that is not ours',
      ALL,
      ['dhparam.bin'],
      /holds files that handover did not write \(dhparam\.bin\)/,
    ],
    ['only files that are not ours', [], ['a', 'b', 'c', 'd'], /\(a, b, c and 1 more\)/],
    [
      'a certificate, its key and its CA, and nothing else',
      ALL,
      [],
      /holds files of another program \(ca\.crt, tls\.crt, tls\.key\)/,
    ],
    ['a certificate and key without their CA', ['tls.crt', 'tls.key'], [], /another issuer without its CA/],
  ])(
    'a folder with %s stays byte for byte, and the obstacle says what to do',
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
});

describe('With the consent of the folder’s Leaf', () => {
  test('known files are replaced, and every other file stays as it was', async () => {
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

  test('a folder in the kubelet’s layout keeps its other files, too', async () => {
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

  test('a process that is killed at any write leaves other files as they were, and never a key without its certificate', async () => {
    for (let at = 1; ; at++) {
      const home = world(CONSENT, ALL);
      const before = factsOf(join(folderOf(home), 'dhparam.bin'));
      const ended = await pass(home, faultyFiles(at)).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof Killed)) throw error;
          return false;
        },
      );
      const look = (): void => {
        expect(factsOf(join(folderOf(home), 'dhparam.bin')), `killed at write ${at}`).toEqual(before);
        const [leaf] = parseCertificates(readFileSync(join(folderOf(home), 'tls.crt'))).certificates;
        const key = PrivateKey.parse(readFileSync(join(folderOf(home), 'tls.key'), 'utf8'));
        expect(leaf !== undefined && key.matches(leaf), `killed at write ${at}`).toBe(true);
      };
      look();
      if (ended) break;
      await directories.home(home).files.remove(join(home, 'state/lock'));
      await pass(home);
      look();
    }
  });
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
