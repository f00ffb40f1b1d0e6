import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseResources } from '@handover/core';
import { after, PrivateKey, parseCertificates, second } from '@handover/material';
import { afterAll, describe, expect, test } from 'vitest';
import { Directories, visible } from '../../test/directories.ts';
import { faultyFiles, Killed } from '../../test/faulty-files.ts';
import { accepts, MESH } from '../../test/world.ts';
import { converge, readYaml } from '../index.ts';

const directories = new Directories();
afterAll(() => directories.end());
const MESH_ID = 'default/mesh';
const RESOURCES = parseResources(readYaml(MESH, 'mesh.yaml'));

const pass = async (path: string, files?: Parameters<typeof directories.home>[1]) => {
  const home = directories.home(path, files);
  try {
    const lock = await home.lock();
    const outcome = await converge(home, home.load(RESOURCES), MESH_ID);
    await lock.release();
    return outcome;
  } catch (error) {
    bury(path);
    throw error;
  }
};

/** As the kernel would: the process that holds the lock is no more. */
const bury = (path: string): void => {
  const lock = join(path, 'state', 'lock');
  if (!existsSync(lock)) return;
  const holder = JSON.parse(readFileSync(lock, 'utf8'));
  writeFileSync(lock, JSON.stringify({ ...holder, started: 'before' }));
};

/** Whoever reads now, whatever has been written so far: every chain is accepted by every bundle, every key fits. */
const invariant = (path: string): void => {
  const { chains, bundles, keys } = visible(path);
  for (const [who, chain] of chains) {
    const [leaf] = parseCertificates(chain).certificates;
    const fits = leaf !== undefined && PrivateKey.parse(keys.get(who) ?? '').matches(leaf);
    if (!fits) expect.fail(`${who}: the key is not that of the certificate`);
    for (const [verifier, bundle] of bundles)
      if (!accepts(chain, bundle, directories.now)) expect.fail(`${verifier} refuses ${who}`);
  }
};

const generations = async (path: string) =>
  (await directories.home(path).authorities.load(MESH_ID))?.state.generations.map(
    ({ number, role }) => `${number} ${role}`,
  );

const PHASES = [
  { name: 'the first install', expected: ['1 current'] },
  { name: 'sending a new CA out', expected: ['2 next', '1 current'] },
  { name: 'issuing from it', expected: ['2 current', '1 previous'] },
  { name: 'retiring the old one', expected: ['2 current'] },
];

describe('A process that is killed before any one of its file operations', () => {
  const base = directories.make();
  for (const phase of PHASES) {
    test(`during ${phase.name} goes on with the same generation, all bundles equal, nothing rotated twice`, async () => {
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
        // A generation that was persisted is the one that goes on.
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
        expect((await pass(path)).plan.actions).toEqual([]);
      }
      await pass(base);
      if (phase.name === 'the first install')
        await directories.home(base).requests.ask({ authority: MESH_ID, rotate: 'r1' }, directories.now);
      else directories.now = after(directories.now, 20 * second);
    });
  }
});

describe('A disk that refuses a write', () => {
  for (const [system, code] of [
    ['ENOSPC', 'HOME_DISK_FULL'],
    ['EROFS', 'HOME_READ_ONLY'],
    ['EACCES', 'HOME_FORBIDDEN'],
    ['EIO', 'HOME_IO_FAILED'],
  ] as const) {
    test(`with ${system} is a coded error, and the old files are whole`, async () => {
      const path = directories.make();
      await pass(path);
      const before = visible(path);
      await directories.home(path).requests.ask({ authority: MESH_ID, rotate: 'r1' }, directories.now);
      const files = faultyFiles(Number.POSITIVE_INFINITY);
      const create = files.create;
      const full = {
        ...files,
        create: async (...args: Parameters<typeof create>) => {
          if (args[0].includes('/out/')) {
            const { fileError } = await import('./files.ts');
            throw fileError(Object.assign(new Error(system), { code: system }), 'write', args[0]);
          }
          return create(...args);
        },
      };
      await expect(pass(path, full)).rejects.toMatchObject({ code, retry: 'later' });
      expect(visible(path)).toEqual(before);
      await pass(path);
      expect(await generations(path)).toEqual(['2 next', '1 current']);
    });
  }
});
