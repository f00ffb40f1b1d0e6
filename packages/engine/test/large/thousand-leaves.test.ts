import { parseResources } from '@handover/core';
import { after, second } from '@handover/material';
import { expect, test } from 'vitest';
import { converge, diskFiles, type Files, readYaml } from '../../src/index.ts';
import { Directories, loaded, visible } from '../directories.ts';
import { faultyFiles, Killed } from '../faulty-files.ts';
import { accepts } from '../world.ts';

const LEAVES = 1_000;
const MESH_ID = 'default/mesh';
const YAML = [
  'kind: Authority\nmetadata: {name: mesh}\nspec: {lifetime: 1y, rotation: {reloadWithin: 20s}}\n',
  ...Array.from(
    { length: LEAVES },
    (_, index) =>
      `kind: Leaf\nmetadata: {name: l${index}}\nspec: {authority: mesh, dnsNames: [l${index}.local]}\n`,
  ),
]
  .map((text) => `apiVersion: handover.dev/v1alpha1\n${text}`)
  .join('---\n');

const directories = new Directories();

/** Counts visible writes: swaps of an object's `..data`, over any number of processes. */
const counting = (files: Files, swaps: Map<string, number>): Files => ({
  ...files,
  rename: async (from, to) => {
    await files.rename(from, to);
    if (to.endsWith('/..data')) swaps.set(to, (swaps.get(to) ?? 0) + 1);
  },
});

test('a rotation of 1,000 leaves writes each object once per phase, also when the process is killed in each phase', async () => {
  const path = directories.make(undefined);
  const resources = parseResources(readYaml(YAML, 'mesh.yaml'));
  const pass = async (files: Files) => {
    const home = directories.home(path, files);
    const lock = await home.lock();
    try {
      await converge(loaded(home, resources), MESH_ID);
    } finally {
      await lock.release().catch(() => {});
      await directories
        .home(path)
        .files.remove(`${path}/state/lock`)
        .catch(() => {});
    }
  };
  for (const [phase, roles, killAt] of [
    ['the first install', ['1 current'], undefined],
    ['Introducing', ['2 next', '1 current'], 6_000],
    ['Activating', ['2 current', '1 previous'], 9_000],
    ['Retiring', ['2 current'], 3_000],
  ] as const) {
    const swaps = new Map<string, number>();
    if (killAt !== undefined) {
      await expect(pass(counting(faultyFiles(killAt), swaps))).rejects.toThrow(Killed);
      expect(swaps.size, `killed in the middle of ${phase}`).toBeGreaterThan(100);
      expect(swaps.size).toBeLessThan(LEAVES);
    }
    await pass(counting(diskFiles, swaps));
    expect(swaps.size, phase).toBe(LEAVES + 1);
    expect([...swaps].filter(([, count]) => count !== 1)).toEqual([]);
    const state = (await directories.home(path).authorities.load(MESH_ID))?.state;
    expect(state?.generations.map(({ number, role }) => `${number} ${role}`)).toEqual(roles);
    if (phase === 'the first install')
      await directories.home(path).requests.ask({ authority: MESH_ID, rotate: 'r1' });
    else directories.now = after(directories.now, 20 * second);
  }
  const { chains, bundles } = visible(path);
  expect(chains.size).toBe(LEAVES);
  const [bundle, ...others] = new Set(bundles.values());
  expect(others).toEqual([]);
  for (const [secret, chain] of chains)
    if (!accepts(chain, bundle, directories.now)) expect.fail(`${secret} is refused`);
});
