import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { handover } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';

let dir: string;
const edit = (change: (yaml: string) => string): void => {
  const file = join(dir, 'handover.yaml');
  writeFileSync(file, change(readFileSync(file, 'utf8')));
};
const at = (...args: string[]) => handover([...args, '--home', `dir:${dir}`]);
const OLD = 'default/configmaps/internal-trust/ca.crt';

beforeEach(async () => {
  dir = newHome();
  await handover(['init', dir]);
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0 });
});

test('Nothing is stranded in a directory whose resources ask for every object', async () => {
  expect((await at('status')).stdout).not.toContain('no longer');
  expect((await at('verify')).code).toBe(0);
  expect((await at('check')).code).toBe(0);
});

test('status, verify and check name the bundle of an Authority that was renamed, and say what to do', async () => {
  edit((yaml) =>
    yaml.replace('name: internal ', 'name: corp ').replace('authority: internal', 'authority: corp'),
  );
  expect(await handover(['run', dir, '--once'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^ADOPT_UNDECIDED: default\/corp cannot start: waiting for default\/secrets\/web to be decided on: it holds a CA of Authority default\/internal; if you renamed that Authority, take its old name again, or set spec\.adopt\.fingerprints to \[[0-9a-f]{64}\] /,
    ),
  });
  rmSync(join(dir, 'out/default/secrets/web'), { recursive: true });
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0, stderr: '' });
  const says = `${OLD}: Authority default/internal made it, and no resource declares that Authority any more`;
  const status = await at('status');
  expect(status.stdout).toContain(says);
  expect(status.stdout).toContain(
    'if you renamed the Authority, take its old name again; else declare default/internal again (--preset or -f for handover certgen), or remove it once no program reads it',
  );
  const { remarks } = JSON.parse((await at('status', '--json')).stdout);
  expect(remarks).toEqual([expect.stringContaining(says)]);
  expect(await at('check')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`HANDOVER WARNING - ${says}`),
  });
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

test('a state from an older backup is named, with what to restore and what to do without a newer copy', async () => {
  const states = join(dir, 'state/authorities');
  const backup = readFileSync(join(states, 'default/internal.json'), 'utf8');
  await at('rotate', 'internal', '--id', 'one');
  writeFileSync(join(states, 'default/internal.json'), backup, { mode: 0o600 });
  expect((await at('status')).stdout).toMatch(
    /[^ ]+, [^ ]+ were made from a newer state than revision 1 of the Authority; restore the newest copy of that state \(its file in state\/authorities of a directory, its Secret in a cluster\); if there is none, move the state away: handover status then says how to keep the CAs that are in use, by spec\.adopt/,
  );
  // The advice works.
  rmSync(states, { recursive: true });
  const { stdout } = await at('status');
  const [, fingerprints] = /set spec\.adopt\.fingerprints to \[([^\]]+)\]/.exec(stdout) ?? [];
  edit((yaml) =>
    yaml.replace('  lifetime: 5y', `  adopt: {fingerprints: [${fingerprints}]}\n  lifetime: 5y`),
  );
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0, stderr: '' });
  expect((await at('verify')).code).toBe(0);
});
