import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { handover } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';

const WEB = 'default/secrets/web';

/** A home whose Leaf has these further fields, after one pass. */
const begin = async (fields = ''): Promise<string> => {
  const dir = newHome();
  expect((await handover(['init', dir])).code).toBe(0);
  mkdirSync(join(dir, 'etc'), { mode: 0o755 });
  const yaml = join(dir, 'handover.yaml');
  const text = readFileSync(yaml, 'utf8');
  writeFileSync(yaml, text.replace('  lifetime: 90d', `  lifetime: 90d\n${fields}`));
  return dir;
};
const pass = async (dir: string): Promise<void> => {
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0, stderr: '' });
};
const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8).padStart(4, '0');

test.each([
  ['tls.key', 0o644, '0600', 'other users can read this private key'],
  ['tls.key', 0o777, '0600', 'other users can read this private key'],
  ['tls.key', 0o640, '0600', 'other users can read this private key'],
  ['ca.crt', 0o666, '0644', 'other users can change it'],
])(
  '%s with mode %o is named by verify, status and check, and put right by run',
  async (name, mode, was, why) => {
    const dir = await begin();
    await pass(dir);
    const path = join(dir, 'out', WEB, name);
    chmodSync(path, mode);
    const now = mode.toString(8).padStart(4, '0');
    const said = `${WEB}: ${name} has mode ${now} instead of ${was}, and ${why}; handover run sets it back`;
    const verified = await handover(['verify', '--home', `dir:${dir}`]);
    expect(verified.stdout).toContain(said);
    expect(verified.code).toBe(1);
    expect((await handover(['status', '--home', `dir:${dir}`])).stdout).toContain(said);
    const checked = await handover(['check', '--home', `dir:${dir}`]);
    expect(checked.stdout).toContain(`${name} has mode ${now} instead of ${was}`);
    expect(checked.code).toBe(2);
    const ran = await handover(['run', dir, '--once']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toContain(
      'with 1 CA and the leaf it holds, because it is not what its resource asks for',
    );
    expect(modeOf(path)).toBe(was);
    expect(await handover(['verify', '--home', `dir:${dir}`])).toMatchObject({ code: 0 });
  },
);

test('a file that chmod opened gets back the mode that its Leaf declares', async () => {
  const dir = await begin('  files: {mode: "0640"}');
  await pass(dir);
  const path = join(dir, 'out', WEB, 'tls.key');
  expect(modeOf(path)).toBe('0640');
  expect(await handover(['verify', '--home', `dir:${dir}`])).toMatchObject({ code: 0 });
  chmodSync(path, 0o644);
  expect((await handover(['verify', '--home', `dir:${dir}`])).stdout).toContain('instead of 0640');
  await pass(dir);
  expect(modeOf(path)).toBe('0640');
});

test('a file that chmod opened at the path of an output is named and put right', async () => {
  const dir = await begin('  outputs: [{name: all.pem, format: combined, file: {path: etc/all.pem}}]');
  await pass(dir);
  const path = join(dir, 'etc/all.pem');
  expect(modeOf(path)).toBe('0600');
  chmodSync(path, 0o644);
  const said = `${WEB}: ${path} has mode 0644 instead of 0600, and other users can read this private key`;
  expect((await handover(['verify', '--home', `dir:${dir}`])).stdout).toContain(said);
  expect((await handover(['status', '--home', `dir:${dir}`])).stdout).toContain(said);
  await pass(dir);
  expect(modeOf(path)).toBe('0600');
});

test.each(['0777', '0666', '0644', '0601'])(
  'mode %s of an output with a private key is refused',
  async (mode) => {
    const dir = await begin(
      `  outputs: [{name: all.pem, format: combined, file: {path: etc/all.pem, group: root, mode: "${mode}"}}]`,
    );
    const ran = await handover(['run', dir, '--once']);
    expect(ran.stderr).toMatch(
      new RegExp(
        `outputs\\[0\\]\\.file\\.mode: "${mode}" gives other users access to a private key; use "0600", or "0640" with a group`,
      ),
    );
    expect(ran.code).not.toBe(0);
    expect(existsSync(join(dir, 'etc/all.pem'))).toBe(false);
  },
);

test('a group mode of an output with a private key is refused without the group, and accepted with it', async () => {
  const output = (file: string) =>
    `  outputs: [{name: key.pem, format: pem, content: key, file: {path: etc/key.pem, ${file}}}]`;
  const refused = await begin(output('mode: "0640"'));
  expect((await handover(['run', refused, '--once'])).stderr).toContain(
    'outputs[0].file.mode: "0640" gives a group access to a private key; name it in file.group, or use "0600"',
  );
  const taken = await begin(output('mode: "0640", group: root'));
  await pass(taken);
  expect(modeOf(join(taken, 'etc/key.pem'))).toBe('0640');
});

test('an output without a private key may be readable by all users', async () => {
  const dir = await begin('  outputs: [{name: c.pem, format: pem, file: {path: etc/c.pem, mode: "0644"}}]');
  await pass(dir);
  expect(modeOf(join(dir, 'etc/c.pem'))).toBe('0644');
});
