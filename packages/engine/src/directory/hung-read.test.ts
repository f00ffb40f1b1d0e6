import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Directories, loaded } from '../../test/directories.ts';
import { converge, observe } from '../index.ts';
import { LOOK_LASTS, within } from '../snapshot/deadlines.ts';
import { inProcessFiles, type UntrustedFiles } from './disk/untrusted-files.ts';

const directories = new Directories();
const { clock } = directories;

const never = new Promise<never>(() => {});
const LASTS_MS = LOOK_LASTS.passwordsMs + LOOK_LASTS.consumersMs;

const authority = (name: string, consumers = '', leaf = ''): string => `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: ${name}}
spec: {lifetime: 1y, consumers: [${consumers}]}
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: ${name}}
spec: {authority: ${name}, dnsNames: [${name}.local]${leaf}}
`;

test('a pass ends when its files do not answer: unread files are no evidence, and another authority does not wait', async () => {
  const path = directories.make([authority('hung'), authority('good')].join('---'));
  for (const id of ['default/hung', 'default/good']) await converge(loaded(directories.home(path)), id);
  const consumer = '{name: app, verifies: true, status: {file: status.json}}';
  const output = ', outputs: [{name: a.jks, format: jks, passwordFrom: {file: password}}]';
  const both = [authority('hung', consumer, output), authority('good', consumer)];
  writeFileSync(join(path, 'mesh.yaml'), both.join('---'), { mode: 0o644 });
  const near = inProcessFiles(clock);
  const far: UntrustedFiles = {
    ...near,
    look: (ask, share) => (share === 'default/good' ? near.look(ask, share) : never),
  };
  const home = directories.home(path, undefined, { far });
  home.load();
  const began = clock.monotonic();
  let isOver = false;
  const hung = home
    .fresh()
    .then((snapshot) => observe(snapshot, 'default/hung'))
    .finally(() => {
      isOver = true;
    });
  const good = await observe(await home.fresh(), 'default/good');
  expect(isOver).toBe(false);
  expect(good.seen.consumers[0]?.instances[0]?.unread?.trust).toMatch(/status\.json does not exist/);
  await clock.advance(LASTS_MS - 1);
  expect(isOver).toBe(false);
  await clock.advance(1);
  expect(isOver).toBe(true);
  const { seen, outputs } = await hung;
  expect(clock.monotonic() - began).toBe(LASTS_MS);
  expect(seen.consumers[0]?.instances).toMatchObject([
    {
      uid: 'app',
      proofs: [],
      unread: { trust: 'it did not answer within 25 s; the next look asks it', leaf: expect.any(String) },
    },
  ]);
  expect(outputs.get('default/secrets/hung')).toEqual({
    missing: 'output a.jks: its password was not read within 10 s; the next look reads it',
  });
});

test('a read that ends in time counts, also as a failure', async () => {
  expect(await within(clock, 60_000, Promise.resolve('in time'), () => 'late')).toBe('in time');
  await expect(within(clock, 60_000, Promise.reject(new Error('broken')), () => 'late')).rejects.toThrow(
    'broken',
  );
  expect(await clock.during(within(clock, 1, never, () => 'late'))).toBe('late');
});
