import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseResources, plan } from '@handover/core';
import { after, PrivateKey, parseCertificates, second } from '@handover/material';
import { afterAll, describe, expect, test } from 'vitest';
import { Directories, loaded, visible } from '../../test/directories.ts';
import { faultyFiles, Killed } from '../../test/faulty-files.ts';
import { accepts, MESH } from '../../test/world.ts';
import { converge, diskFiles, type Files, observeAnew, readYaml } from '../index.ts';
import { homeFileError } from './disk/files.ts';

const directories = new Directories();
afterAll(() => directories.end());
const MESH_ID = 'default/mesh';
const RESOURCES = parseResources(readYaml(MESH, 'mesh.yaml'));

const pass = async (path: string, files?: Parameters<typeof directories.home>[1]) => {
  const home = directories.home(path, files);
  try {
    const lock = await home.lock();
    try {
      return await converge(loaded(home, RESOURCES), MESH_ID);
    } finally {
      await lock.release();
    }
  } catch (error) {
    bury(path);
    throw error;
  }
};

/** Makes the lock look like that of a dead process. */
const bury = (path: string): void => {
  const lock = join(path, 'state', 'lock');
  if (!existsSync(lock)) return;
  const holder = JSON.parse(readFileSync(lock, 'utf8'));
  writeFileSync(lock, JSON.stringify({ ...holder, started: 'before' }));
};

/** At every moment each bundle accepts each chain, and each key matches its certificate. */
const invariant = (path: string): void => {
  const { chains, bundles, keys } = visible(path);
  for (const [secret, chain] of chains) {
    const [leaf] = parseCertificates(chain).certificates;
    const fits = leaf !== undefined && PrivateKey.parse(keys.get(secret) ?? '').matches(leaf);
    if (!fits) expect.fail(`${secret}: the key does not match the certificate`);
    for (const [verifier, bundle] of bundles)
      if (!accepts(chain, bundle, directories.now)) expect.fail(`${verifier} refuses ${secret}`);
  }
};

const generations = async (path: string) =>
  (await directories.home(path).authorities.load(MESH_ID))?.state.generations.map(
    ({ number, role }) => `${number} ${role}`,
  );

const PHASES = [
  { name: 'the first install', expected: ['1 current'] },
  { name: 'the distribution of a new CA', expected: ['2 next', '1 current'] },
  { name: 'issuing from the new CA', expected: ['2 current', '1 previous'] },
  { name: 'the retirement of the old CA', expected: ['2 current'] },
];

describe('A process that is killed before any of its file operations', () => {
  const base = directories.make();
  for (const phase of PHASES) {
    test(`during ${phase.name} continues with the same CA generation, all bundles equal, nothing rotated twice`, async () => {
      const counting = faultyFiles(Number.POSITIVE_INFINITY);
      const whole = directories.copy(base);
      await pass(whole, counting);
      expect(await generations(whole)).toEqual(phase.expected);
      expect(counting.writes()).toBeGreaterThan(30);
      for (let at = 1; at <= counting.writes(); at++) {
        const path = directories.copy(base);
        await expect(pass(path, faultyFiles(at))).rejects.toThrow(Killed);
        invariant(path);
        const interrupted = await directories.home(path).authorities.load(MESH_ID);
        await pass(path);
        invariant(path);
        expect(await generations(path), `killed at ${at}`).toEqual(phase.expected);
        expect(new Set(visible(path).bundles.values()).size).toBe(1);
        const kept = (await directories.home(path).authorities.load(MESH_ID))?.state;
        // A saved CA generation is kept.
        for (const { number, anchors } of interrupted?.state.generations ?? [])
          for (const after of kept?.generations ?? [])
            if (after.number === number) expect(after.anchors).toEqual(anchors);
        for (const name of ['a', 'b'])
          expect(readdirSync(join(path, 'out/default/secrets', name)).sort()).toEqual([
            expect.stringMatching(/^\.\.2/),
            '..data',
            'ca.crt',
            'tls.crt',
            'tls.key',
          ]);
        const home = directories.home(path);
        const { seen, responsibilities, now } = await observeAnew(loaded(home, RESOURCES).fresh, MESH_ID);
        expect(plan(seen, responsibilities.policy, now).actions).toEqual([]);
      }
      await pass(base);
      if (phase.name === 'the first install')
        await directories.home(base).requests.ask({ authority: MESH_ID, rotate: 'r1' });
      else directories.now = after(directories.now, 20 * second);
    }, 120_000);
  }
});

/** The operations of the port that change a disk; each call of each is refused once, below out/ and below state/. */
const OPERATIONS = ['makeDirectory', 'create', 'symlink', 'link', 'rename', 'remove', 'sync'] as const;
type Operation = (typeof OPERATIONS)[number];

/** A disk that refuses the `at`-th call of this operation, as `diskFiles` would; `refused` gives its path. */
const refusing = (operation: Operation, at: number, system: string) => {
  let count = 0;
  let refused: string | undefined;
  const disk = diskFiles[operation] as (...args: unknown[]) => Promise<void>;
  const files: Files = {
    ...diskFiles,
    [operation]: async (...args: unknown[]) => {
      if (++count !== at) return disk(...args);
      // The path that is written: the second one where there are two.
      const path = String(
        operation === 'symlink' || operation === 'link' || operation === 'rename' ? args[1] : args[0],
      );
      refused = path;
      const error = Object.assign(new Error(system), { code: system });
      throw operation === 'link' ? error : homeFileError(error, 'write', path);
    },
  };
  return { files, refused: () => refused };
};

const REFUSALS = [
  ['ENOSPC', 'HOME_DISK_FULL'],
  ['EROFS', 'HOME_READ_ONLY'],
  ['EACCES', 'HOME_FORBIDDEN'],
  ['EIO', 'HOME_IO_FAILED'],
] as const;

test('when the disk refuses any one operation, the error has a code and one line, old files stay whole, and the next run continues', async () => {
  const base = directories.make();
  await pass(base);
  await directories.home(base).requests.ask({ authority: MESH_ID, rotate: 'r1' });
  const places = new Set<string>();
  for (const operation of OPERATIONS) {
    for (let at = 1; ; at++) {
      const path = directories.copy(base);
      const [system, code] = REFUSALS[at % REFUSALS.length] ?? REFUSALS[0];
      const { files, refused } = refusing(operation, at, system);
      const outcome = await pass(path, files).catch((error: unknown) => error);
      const where = refused()
        ?.slice(path.length + 1)
        .replace(/\d{4,}\S*/, '');
      if (where === undefined) break; // that was all of them
      places.add(`${operation} ${where.split('/', 1)[0]}`);
      expect(outcome, `${operation} ${at}: ${where}`).toMatchObject({ code, retry: 'later' });
      expect((outcome as Error).message).not.toContain('\n');
      invariant(path);
      await pass(path);
      invariant(path);
      expect(await generations(path), `${operation} ${at}: ${where}`).toEqual(['2 next', '1 current']);
      expect(new Set(visible(path).bundles.values()).size).toBe(1);
    }
  }
  expect([...places].sort()).toEqual([
    'create out',
    'create state',
    'link state',
    'makeDirectory out',
    'makeDirectory state',
    'remove out',
    'remove state',
    'rename out',
    'rename state',
    'symlink out',
    'sync out',
    'sync state',
  ]);
}, 120_000);
