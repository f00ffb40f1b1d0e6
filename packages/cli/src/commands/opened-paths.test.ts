import { existsSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { handover } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';

let dir: string;
const API = `---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: api}
spec: {authority: internal, dnsNames: [api.internal], outputs: [{name: api.pem, format: combined, file: {path: etc/api.pem}}]}
`;
const file = (path: string): string => join(dir, 'out/default', path);
const run = () => handover(['run', dir, '--once']);
const asked = async (): Promise<{ verify: number; check: string; said: string }> => {
  const verify = await handover(['verify', '--home', `dir:${dir}`]);
  const check = await handover(['check', '--home', `dir:${dir}`]);
  return { verify: verify.code, check: check.stdout.split(' ')[1] ?? '', said: verify.stdout + check.stdout };
};

beforeEach(async () => {
  dir = newHome();
  await handover(['init', dir]);
  await mkdir(join(dir, 'etc'), { mode: 0o755 });
  const yaml = join(dir, 'handover.yaml');
  writeFileSync(yaml, `${readFileSync(yaml, 'utf8')}${API}`);
  expect(await run()).toMatchObject({ code: 0, stderr: '' });
  expect(await asked()).toMatchObject({ verify: 0, check: 'OK' });
});

const NAMES = ['secrets/web/tls.crt', 'secrets/web/tls.key', 'configmaps/internal-trust/ca.crt'];

test.each(NAMES)('a missing %s is a finding, and run puts it back', async (name) => {
  rmSync(file(name));
  const found = await asked();
  expect(found).toMatchObject({ verify: 1, check: 'CRITICAL' });
  expect(found.said).toContain(`${name.split('/').at(-1)} is missing`);
  expect(await run()).toMatchObject({ code: 0 });
  expect(readlinkSync(file(name))).toBe(`..data/${name.split('/').at(-1)}`);
  expect(await asked()).toMatchObject({ verify: 0, check: 'OK' });
});

test.each(NAMES)('a file of another program in place of %s is a finding, and stays', async (name) => {
  rmSync(file(name));
  writeFileSync(file(name), 'theirs');
  const found = await asked();
  expect(found).toMatchObject({ verify: 1, check: 'CRITICAL' });
  expect(found.said).toMatch(
    /holds files of another program \([a-z.]+\); move them away, or set handover\.dev\/adopt/,
  );
  const again = await run();
  expect(again.code).not.toBe(0);
  expect(again.stderr).toContain('OBJECT_OBSTACLE');
  expect(readFileSync(file(name), 'utf8')).toBe('theirs');
});

test('a link to elsewhere in place of tls.crt is a finding, and stays', async () => {
  rmSync(file('secrets/web/tls.crt'));
  symlinkSync('/dev/null', file('secrets/web/tls.crt'));
  expect(await asked()).toMatchObject({ verify: 1, check: 'CRITICAL' });
  expect((await run()).stderr).toContain('OBJECT_OBSTACLE');
  expect(readlinkSync(file('secrets/web/tls.crt'))).toBe('/dev/null');
});

describe('A file of outputs', () => {
  const cases: readonly (readonly [string, () => string])[] = [
    ['in the folder', () => file('secrets/api/..data/api.pem')],
    ['at its own path', () => join(dir, 'etc/api.pem')],
  ];
  test.each(cases)(
    'a file of outputs that is missing %s is a finding until run writes it',
    async (_where, path) => {
      rmSync(path());
      const found = await asked();
      expect(found).toMatchObject({ verify: 1, check: 'CRITICAL' });
      expect(found.said).toContain('api.pem is missing');
      await run();
      expect(existsSync(path())).toBe(true);
      expect(await asked()).toMatchObject({ verify: 0, check: 'OK' });
    },
  );

  test.each(cases)(
    'a file of outputs that is damaged %s is a finding until run writes it',
    async (_where, path) => {
      writeFileSync(path(), 'x');
      const found = await asked();
      expect(found).toMatchObject({ verify: 1, check: 'CRITICAL' });
      expect(found.said).toMatch(
        /(one of api\.pem, ca\.crt, tls\.crt, tls\.key|\/etc\/api\.pem) is not as handover wrote it/,
      );
      await run();
      expect(readFileSync(path(), 'utf8')).toContain('PRIVATE KEY');
      expect(await asked()).toMatchObject({ verify: 0, check: 'OK' });
    },
  );
});
