import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PrivateKey, parseCertificates } from '@handover/material';
import { beforeAll, expect, test } from 'vitest';
import { type AuthorityOutcome, converge, type Files } from '../src/index.ts';
import { Directories, loaded, visible } from './directories.ts';
import { faultyFiles, Killed } from './faulty-files.ts';
import { MESH } from './world.ts';

export const directories = new Directories();
const isRoot = process.getuid?.() === 0;
const OWNER = 1_234;
/** Not valid text in any encoding. */
export const BINARY = Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28, 0x0a, 0x80]);
export const CONSENT = MESH.replace('spec: {', 'spec: {adopt: {secret: a}, ').replaceAll(
  'kind: Leaf\nmetadata: {name: a',
  'kind: Leaf\nmetadata: {annotations: {handover.dev/adopt: "true"}, name: a',
);

export const pass = async (path: string, files?: Files): Promise<AuthorityOutcome> => {
  const home = directories.home(path, files);
  const lock = await home.lock();
  try {
    return await converge(loaded(home), 'default/mesh');
  } finally {
    await lock.release();
  }
};

export let theirs: ReadonlyMap<string, string>;
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

export const folderOf = (home: string) => join(home, 'out/default/secrets/a');
export const put = (path: string, content: string | Buffer, mode: number): void => {
  writeFileSync(path, content);
  chmodSync(path, mode);
  if (isRoot) chownSync(path, OWNER, OWNER);
};
/** A folder of another program, with a file that is not ours. */
export const world = (
  yaml: string,
  names: readonly string[],
  more: readonly string[] = ['dhparam.bin'],
): string => {
  const home = directories.make(yaml);
  mkdirSync(folderOf(home), { recursive: true });
  for (const name of names) put(join(folderOf(home), name), theirs.get(name) ?? '', 0o640);
  for (const name of more) put(join(folderOf(home), name), BINARY, 0o640);
  return home;
};

/** Everything observable about a file. */
export const factsOf = (path: string) => {
  const { mode, uid, gid, ino, mtimeMs } = statSync(path);
  return { mode, uid, gid, ino, mtimeMs, bytes: readFileSync(path).toString('hex') };
};
export const folderFacts = (home: string) =>
  Object.fromEntries(readdirSync(folderOf(home)).map((name) => [name, factsOf(join(folderOf(home), name))]));

export const ALL = ['tls.crt', 'tls.key', 'ca.crt'];

/** A test that kills a process at each `every`th of its writes. */
export const testKills = (every: number): void => {
  test('With consent, a process that is killed at any write leaves other files as they were, and never a key without its certificate', async () => {
    for (let at = 1; ; at += every) {
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
};
