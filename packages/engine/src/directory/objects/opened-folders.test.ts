import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseCertificates } from '@handover/material';
import { expect, test } from 'vitest';
import { Directories, visible } from '../../../test/directories.ts';
import { MESH } from '../../../test/world.ts';
import { type DirectoryHome, passOnce } from '../../index.ts';

const directories = new Directories();

const pass = async (home: DirectoryHome): Promise<string> => {
  try {
    await passOnce(home, home.load(), () => {});
    return 'done';
  } catch (error) {
    return (error as Error).message;
  }
};

test('handover run writes nothing through a link that replaces a folder of out', async () => {
  const path = directories.make();
  const home = directories.home(path);
  await pass(home);
  const catalogue = home.load();
  const elsewhere = join(path, 'elsewhere');
  mkdirSync(elsewhere);
  renameSync(join(path, 'out/default'), join(path, 'out/moved'));
  symlinkSync(elsewhere, join(path, 'out/default'));
  await expect(passOnce(home, catalogue, () => {})).rejects.toThrow(`${path}/out/default is a link to`);
  expect(readdirSync(elsewhere)).toEqual([]);
});

test('handover run writes nothing below a folder that became writable by other users', async () => {
  const path = directories.make();
  const home = directories.home(path);
  await pass(home);
  const catalogue = home.load();
  chmodSync(join(path, 'out/default'), 0o777);
  await expect(passOnce(home, catalogue, () => {})).rejects.toThrow(`chmod go-w ${path}/out/default`);
  chmodSync(join(path, 'out/default'), 0o755);
  home.objects.tryAgain();
  expect(await pass(home)).toBe('done');
});

test('a CA that the owner of a leaf’s files adds there reaches no bundle made from these files', async () => {
  const path = directories.make(`${MESH}---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: everyone}
spec: {sources: [{secret: {name: a, key: ca.crt}}], targets: [{configMap: {name: everyone}}]}
`);
  const home = directories.home(path);
  await pass(home);
  await pass(home);
  const bundle = (): number =>
    parseCertificates(visible(path).bundles.get('configmaps/everyone') ?? '').certificates.length;
  expect(bundle()).toBe(1);
  const other = directories.make();
  await pass(directories.home(other));
  const theirs = visible(other).bundles.get('secrets/a') ?? '';
  appendFileSync(join(path, 'out/default/secrets/a/ca.crt'), theirs);
  await pass(home);
  expect(bundle()).toBe(1);
  expect(await pass(home)).toBe('done');
  expect(bundle()).toBe(1);
});

test('a file of another program in the place of one key stays when another key of the folder is written', async () => {
  const path = directories.make(`${MESH}---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: two}
spec: {sources: [{authority: default/mesh}], targets: [{configMap: {name: two, key: one.crt}}, {configMap: {name: two, key: two.crt}}]}
`);
  const home = directories.home(path);
  expect(await pass(home)).toBe('done');
  const folder = join(path, 'out/default/configmaps/two');
  rmSync(join(folder, 'one.crt'));
  writeFileSync(join(folder, 'one.crt'), 'theirs');
  rmSync(join(folder, 'two.crt'));
  expect(await pass(home)).toContain('holds files of another program (one.crt)');
  expect(readFileSync(join(folder, 'one.crt'), 'utf8')).toBe('theirs');
  expect(readFileSync(join(folder, 'two.crt'), 'utf8')).toContain('CERTIFICATE');
});
