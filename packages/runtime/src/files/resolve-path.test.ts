import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { Scope } from '../../test/fixture.ts';
import { PathResolver } from './resolve-path.ts';

let scope: Scope;
let dir: string;

/** The kubelet's layout, with the old version left in place. */
const version = (name: string) => {
  mkdirSync(join(dir, name));
  for (const file of ['tls.crt', 'tls.key']) writeFileSync(join(dir, name, file), name);
  symlinkSync(name, join(dir, '..data_tmp'));
  renameSync(join(dir, '..data_tmp'), join(dir, '..data'));
};

beforeEach(() => {
  scope = new Scope();
  dir = join(scope.volume({}).dir, 'tls');
  mkdirSync(dir);
  version('..1');
  for (const file of ['tls.crt', 'tls.key']) symlinkSync(join('..data', file), join(dir, file));
});

test('a swap between two files of one load does not mix versions', async () => {
  const resolver = new PathResolver();
  expect(await resolver.resolve(join(dir, 'tls.crt'))).toBe(join(dir, '..1', 'tls.crt'));
  version('..2');
  expect(await resolver.resolve(join(dir, 'tls.key'))).toBe(join(dir, '..1', 'tls.key'));
  expect(await new PathResolver().resolve(join(dir, 'tls.key'))).toBe(join(dir, '..2', 'tls.key'));
});

test('every link on the way to a file is watched, but not what `..data` seals', async () => {
  const resolver = new PathResolver();
  await resolver.resolve(join(dir, 'tls.crt'));
  expect([...resolver.watch]).toEqual([
    [
      dir,
      new Map([
        ['tls.crt', 'link'],
        ['..data', 'link'],
      ]),
    ],
  ]);
});

test('links of other shapes are followed and watched: up, absolute, through directories', async () => {
  const base = join(dir, '..');
  mkdirSync(join(base, 'v1', 'pki'), { recursive: true });
  writeFileSync(join(base, 'v1', 'pki', 'ca.crt'), '');
  symlinkSync('v1', join(base, 'current'));
  mkdirSync(join(base, 'app'));
  symlinkSync(join(base, 'current', 'pki'), join(base, 'app', 'pki'));
  symlinkSync('../app/pki/ca.crt', join(base, 'app', 'ca.crt'));
  const resolver = new PathResolver();
  expect(await resolver.resolve(join(base, 'app', 'ca.crt'))).toBe(join(base, 'v1', 'pki', 'ca.crt'));
  const watched = [...resolver.watch].flatMap(([at, names]) =>
    [...names.keys()].map((name) => join(at, name)),
  );
  expect(watched.sort()).toEqual(
    [
      join(base, 'app', 'ca.crt'),
      join(base, 'app', 'pki'),
      join(base, 'current'),
      join(base, 'v1', 'pki', 'ca.crt'),
    ].sort(),
  );
});

test('the nearest directory that exists is watched for a missing file', async () => {
  const resolver = new PathResolver();
  await expect(resolver.resolve(join(dir, 'not', 'yet', 'ca.crt'))).rejects.toMatchObject({
    code: 'FILE_MISSING',
  });
  expect([...resolver.watch]).toEqual([[dir, new Map([['not', 'link']])]]);
});
