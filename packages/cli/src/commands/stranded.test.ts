import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { handover } from '../../test/capture.ts';

const root = mkdtempSync(join(tmpdir(), 'handover-stranded-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
let dir: string;
const edit = (change: (yaml: string) => string): void => {
  const file = join(dir, 'handover.yaml');
  writeFileSync(file, change(readFileSync(file, 'utf8')));
};
const at = (...args: string[]) => handover([...args, '--home', `dir:${dir}`]);
const OLD = 'default/configmaps/internal-trust/ca.crt';

beforeEach(async () => {
  dir = join(root, `home-${++count}`);
  await handover(['init', dir]);
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0 });
});

test('Nothing is stranded in a directory whose resources ask for every object', async () => {
  expect((await at('status')).stdout).not.toContain('no longer');
  expect((await at('verify')).code).toBe(0);
});

test('status and verify name the bundle of an Authority that was renamed, and say what to do', async () => {
  edit((yaml) =>
    yaml.replace('name: internal ', 'name: corp ').replace('authority: internal', 'authority: corp'),
  );
  rmSync(join(dir, 'out/default/secrets/web'), { recursive: true });
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0, stderr: '' });
  const says = `${OLD}: Authority default/internal made it, and no resource declares that Authority any more`;
  const status = await at('status');
  expect(status.stdout).toContain(says);
  expect(status.stdout).toContain('remove it once no program reads it');
  const { remarks } = JSON.parse((await at('status', '--json')).stdout);
  expect(remarks).toEqual([expect.stringContaining(says)]);
  const verify = await at('verify');
  expect(verify.stdout).toContain(says);
  expect(verify.code).toBe(1);
  expect(JSON.parse((await at('verify', '--json')).stdout)).toMatchObject({
    ok: false,
    stranded: [{ object: OLD }],
  });
});

test('a bundle that got another name is named, also when its Authority is asked for alone', async () => {
  edit((yaml) => yaml.replace('  lifetime: 5y', '  lifetime: 5y\n  bundle: {configMapName: other-trust}'));
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0 });
  const verify = await at('verify', 'default/internal');
  expect(verify.stdout).toContain(
    `${OLD}: Authority default/internal made it, and no resource asks for it any more`,
  );
  expect(verify.code).toBe(1);
});

test.each([
  ['default/secrets/web', 'default/secrets/web-old', ''],
  ['default/configmaps/internal-trust', 'default/configmaps/old-trust', '/ca.crt'],
])('the folder %s that was renamed by hand is named, and where it came from', async (from, to, key) => {
  renameSync(join(dir, 'out', from), join(dir, 'out', to));
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0 });
  const says = `${to}${key}: it is ${from}${key} under another name, as its record shows, so that it gets no updates; move it back, or remove it once no program reads it`;
  expect((await at('status')).stdout).toContain(says);
  const verify = await at('verify');
  expect(verify.stdout).toContain(says);
  expect(verify.code).toBe(1);
  rmSync(join(dir, 'out', to), { recursive: true });
  expect((await at('verify')).code).toBe(0);
});
