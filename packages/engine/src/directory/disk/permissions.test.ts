import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import { TestClock, temporaryFolder } from '@handover/test-api-server';
import { describe, expect, test } from 'vitest';
import { copyTree } from '../../../test/copy-tree.ts';
import { MESH } from '../../../test/world.ts';
import { DirectoryHome } from '../../index.ts';

const isRoot = process.getuid?.() === 0;
const OTHER = 65_534;
const scratch = temporaryFolder();
chmodSync(scratch, 0o755);

const chownTree = (path: string, uid: number): void => {
  lchownSync(path, uid, uid);
  if (!lstatSync(path).isDirectory()) return;
  for (const name of readdirSync(path)) chownTree(join(path, name), uid);
};

/** A home as `uid` would have made it, below folders of root. */
const world = (uid: number) => {
  const root = temporaryFolder();
  chmodSync(root, 0o755);
  const home = join(root, 'parent/home');
  for (const made of ['', 'out', 'out/default', 'out/default/secrets', 'out/default/secrets/a'])
    mkdirSync(join(home, made), { recursive: true, mode: 0o755 });
  mkdirSync(join(home, 'state/authorities'), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, 'state/authorities/x.json'), '{}', { mode: 0o600 });
  writeFileSync(join(home, 'mesh.yaml'), MESH, { mode: 0o644 });
  mkdirSync(join(root, 'shared'), { mode: 0o755 });
  writeFileSync(join(root, 'shared/more.yaml'), '', { mode: 0o644 });
  symlinkSync('../../shared/more.yaml', join(home, 'more.yaml'));
  chownTree(join(root, 'parent'), uid);
  chownTree(join(root, 'shared'), uid);
  return { root, home };
};

const PLACES = {
  home: 'parent/home',
  parent: 'parent',
  'a *.yaml': 'parent/home/mesh.yaml',
  'the target of a *.yaml': 'shared/more.yaml',
  'the folder of the target of a *.yaml': 'shared',
  out: 'parent/home/out',
  'a folder of out': 'parent/home/out/default/secrets/a',
  state: 'parent/home/state',
  'a file of state': 'parent/home/state/authorities/x.json',
} as const;
type Place = keyof typeof PLACES;

const chmod = (mode: number) => (path: string) => chmodSync(path, mode);
/** A link in the place of one object is that object's trouble, and no other's. */
const behindLink = (place: Place, otherwise: string): string => {
  if (place === 'a folder of out') return 'HOME_MALFORMED of one object';
  return /out|state/.test(place) ? 'HOME_MALFORMED' : otherwise;
};
/** Moves the place elsewhere, and puts a link to it there. */
const moveBehindLink =
  (owner: number | undefined) =>
  (path: string, uid: number): void => {
    const elsewhere = temporaryFolder();
    chmodSync(elsewhere, 0o755);
    copyTree(path, join(elsewhere, 'it'));
    chownTree(join(elsewhere, 'it'), uid);
    if (owner !== undefined) chownSync(elsewhere, owner, owner);
    renameSync(path, `${path}-before`);
    symlinkSync(join(elsewhere, 'it'), path);
    lchownSync(path, uid, uid);
  };

const FOREIGN = 'HOME_FOREIGN_OWNER';
const WRITABLE = 'HOME_WRITABLE_BY_OTHERS';
const SPOILS: Readonly<
  Record<string, { do: (path: string, uid: number) => void; code: (place: Place) => string }>
> = {
  'belongs to another user': { do: (path) => chownSync(path, OTHER, OTHER), code: () => FOREIGN },
  'can be written by its group': {
    do: (path) => chmod(lstatSync(path).mode | 0o020)(path),
    code: () => WRITABLE,
  },
  'can be written by all users': {
    do: (path) => chmod(lstatSync(path).mode | 0o002)(path),
    code: () => WRITABLE,
  },
  'is sticky and can be written by all users': {
    do: (path) => chmod(lstatSync(path).mode | 0o1022)(path),
    code: (place) => (place === 'parent' || place.startsWith('the folder') ? 'fine' : WRITABLE),
  },
  'is a link to a safe place': {
    do: moveBehindLink(undefined),
    code: (place) => behindLink(place, 'fine'),
  },
  'is a link to a place that another user can change': {
    do: moveBehindLink(OTHER),
    code: (place) => behindLink(place, FOREIGN),
  },
};

const refusal = (home: string, uid: number): HandoverError | undefined => {
  try {
    new DirectoryHome(home, { uid, timers: new TestClock() }).check();
    return undefined;
  } catch (error) {
    if (error instanceof HandoverError) return error;
    throw error;
  }
};

/** Of the object in `out/default/secrets/a`. */
const refusalOfOne = async (home: string, uid: number): Promise<string> => {
  const found = await new DirectoryHome(home, { uid, timers: new TestClock() }).objects.read(
    'default/secrets/a',
  );
  return / is a link to /.test(String(found?.obstacle ?? '')) ? 'HOME_MALFORMED of one object' : 'fine';
};

describe.skipIf(!isRoot).each([0, 1234])(
  'Run as user %d (needs root, to make files of other users)',
  (uid) => {
    test(`a home of user ${uid} or of root is accepted from user ${uid}`, () => {
      for (const owner of [uid, 0]) expect(refusal(world(owner).home, uid)).toBeUndefined();
    });

    const rows = Object.keys(PLACES).flatMap((place) => Object.keys(SPOILS).map((spoil) => [place, spoil]));
    test.each(rows as [Place, string][])(
      `user ${uid} accepts a home only where no other user can change it: %s %s`,
      async (place, spoil) => {
        const { root, home } = world(uid);
        const { do: spoilIt, code } = SPOILS[spoil] ?? expect.fail('no such row');
        const path = join(root, PLACES[place]);
        spoilIt(path, uid);
        let found = refusal(home, uid);
        const ofOne = found === undefined ? await refusalOfOne(home, uid) : 'fine';
        expect(found?.code ?? ofOne, found?.message).toBe(code(place));
        // The command in each message fixes its problem.
        for (let step = 0; found !== undefined && found.code !== 'HOME_MALFORMED'; step++) {
          const [, command] = /; .*?(ch(?:own|mod) \S+ \S+?)(?:,|$)/.exec(found.message) ?? [];
          expect(command, found.message).toContain(found.path);
          expect(step, found.message).toBeLessThan(3);
          execFileSync('/bin/sh', ['-c', command ?? '']);
          found = refusal(home, uid);
        }
      },
    );
  },
);

test.skipIf(!isRoot)('A path whose name another user chose is quoted in the proposed command', () => {
  const root = temporaryFolder();
  const home = join(root, "a b'; echo x");
  mkdirSync(home, { mode: 0o777 });
  chmodSync(home, 0o777);
  const found = refusal(home, 0);
  expect(found?.message).toContain(`chmod go-w '${root}/a b'\\''; echo x',`);
});

test('Links that form a loop are refused', () => {
  const root = temporaryFolder();
  const home = join(root, 'home');
  mkdirSync(home, { mode: 0o755 });
  symlinkSync('b.yaml', join(home, 'a.yaml'));
  symlinkSync('a.yaml', join(home, 'b.yaml'));
  expect(refusal(home, process.getuid?.() ?? 0)).toMatchObject({ code: 'HOME_MALFORMED' });
});
