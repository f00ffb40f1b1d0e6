import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseResources, plan } from '@handover/core';
import { after, PrivateKey, parseCertificates, second } from '@handover/material';
import { expect, test } from 'vitest';
import { converge, observeWithRetry, readYaml } from '../src/index.ts';
import { Directories, loaded, visible } from './directories.ts';
import { faultyFiles, Killed, killsAt } from './faulty-files.ts';
import { accepts, MESH } from './world.ts';

export const directories = new Directories();
export const MESH_ID = 'default/mesh';
const RESOURCES = parseResources(readYaml(MESH, 'mesh.yaml'));

export const pass = async (path: string, files?: Parameters<typeof directories.home>[1]) => {
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

/** At every moment each bundle accepts each chain, each key matches its certificate, and the log has every certificate. */
export const invariant = (path: string): void => {
  const { chains, bundles, keys } = visible(path);
  const log = join(path, 'state/log/issued.jsonl');
  const issued = existsSync(log) ? readFileSync(log, 'utf8') : '';
  for (const { fingerprint, subject } of [...chains.values(), ...bundles.values()].flatMap(
    (pem) => parseCertificates(pem).certificates,
  ))
    if (!issued.includes(fingerprint)) expect.fail(`${subject} is not in the log`);
  for (const [secret, chain] of chains) {
    const [leaf] = parseCertificates(chain).certificates;
    const fits = leaf !== undefined && PrivateKey.parse(keys.get(secret) ?? '').matches(leaf);
    if (!fits) expect.fail(`${secret}: the key does not match the certificate`);
    for (const [verifier, bundle] of bundles)
      if (!accepts(chain, bundle, directories.now)) expect.fail(`${verifier} refuses ${secret}`);
  }
};

export const generations = async (path: string) =>
  (await directories.home(path).authorities.load(MESH_ID))?.state.generations.map(
    ({ number, role }) => `${number} ${role}`,
  );

const PHASES = [
  { name: 'the first install', expected: ['1 current'] },
  { name: 'the distribution of a new CA', expected: ['2 next', '1 current'] },
  { name: 'issuing from the new CA', expected: ['2 current', '1 previous'] },
  { name: 'the retirement of the old CA', expected: ['2 current'] },
];

/** A home right before this phase of its first rotation. */
const before = async (phase: number): Promise<string> => {
  const path = directories.make();
  for (let done = 0; done < phase; done++) {
    await pass(path);
    if (done === 0) await directories.home(path).requests.ask({ authority: MESH_ID, rotate: 'r1' });
    else directories.now = after(directories.now, 20 * second);
  }
  return path;
};

/** Tests that kill a process before each `every`th of its file operations. */
export const testKills = (every: number): void => {
  for (const [index, phase] of PHASES.entries()) {
    test(`a process that is killed during ${phase.name} continues with the same CA generation, all bundles equal, nothing rotated twice`, async () => {
      const base = await before(index);
      const counting = faultyFiles(Number.POSITIVE_INFINITY);
      const whole = directories.copy(base);
      await pass(whole, counting);
      expect(await generations(whole)).toEqual(phase.expected);
      expect(counting.writes()).toBeGreaterThan(30);
      for (const at of killsAt(counting.writes(), every, index)) {
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
        const { seen, responsibilities, now } = await observeWithRetry(
          loaded(home, RESOURCES).fresh,
          MESH_ID,
        );
        expect(plan(seen, responsibilities.policy, now).actions).toEqual([]);
      }
    });
  }
};
