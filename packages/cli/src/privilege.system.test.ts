import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { build, folder, handoverAs, isRoot, NOBODY } from '../test/real-process.ts';
import { STARTING_POINT } from './commands/init.ts';

beforeAll(build, 120_000);

/** Resources that have root make a file: what a user without rights would like to have done. */
const hookMaking = (file: string): string =>
  STARTING_POINT.replace('  lifetime: 90d', `  lifetime: 90d\n  reload: {command: [touch, ${file}]}`);

/** A directory that root made, with a mark that only its hook makes. */
const world = () => {
  const root = folder();
  const home = join(root, 'home');
  mkdirSync(home, { mode: 0o755 });
  return { root, home, mark: join(root, 'mark') };
};

describe.skipIf(!isRoot)('A user without rights does not become root (needs root, to play both)', () => {
  test('root runs the hook of a directory that belongs to root alone', async () => {
    const { home, mark } = world();
    writeFileSync(join(home, 'a.yaml'), hookMaking(mark), { mode: 0o644 });
    expect(await handoverAs(['run', home, '--once'])).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(mark)).toBe(true);
  });

  test('root does not run the hook of a directory that belongs to another user', async () => {
    const { home, mark } = world();
    writeFileSync(join(home, 'a.yaml'), hookMaking(mark), { mode: 0o644 });
    chownSync(home, NOBODY, NOBODY);
    const ran = await handoverAs(['run', home, '--once']);
    expect(ran.stderr).toMatch(/^HOME_FOREIGN_OWNER: .*\n$/);
    expect(ran.stderr).toContain(`chown root ${home}`);
    expect(ran.code).toBe(1);
    expect(existsSync(mark)).toBe(false);
  });

  test('root does not run the hook of a *.yaml that links to a file that all users can write', async () => {
    const { root, home, mark } = world();
    const target = join(root, 'shared');
    writeFileSync(target, hookMaking(mark));
    chmodSync(target, 0o666);
    symlinkSync(target, join(home, 'a.yaml'));
    const ran = await handoverAs(['run', home, '--once']);
    expect(ran.stderr).toMatch(/^HOME_WRITABLE_BY_OTHERS: .*\n$/);
    expect(ran.stderr).toContain(`chmod go-w ${target}`);
    expect(existsSync(mark)).toBe(false);
  });

  test('root does not write through an out that is a link to elsewhere', async () => {
    const { root, home } = world();
    const elsewhere = join(root, 'jobs.d');
    mkdirSync(elsewhere, { mode: 0o755 });
    writeFileSync(join(home, 'a.yaml'), STARTING_POINT, { mode: 0o644 });
    symlinkSync(elsewhere, join(home, 'out'));
    const ran = await handoverAs(['run', home, '--once']);
    expect(ran.stderr).toMatch(/^HOME_MALFORMED: .*out is a link.*\n$/);
    expect(ran.code).toBe(1);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  test('root does not run a hook program that another user can write', async () => {
    const { root, home, mark } = world();
    const program = join(root, 'reload');
    writeFileSync(program, `#!/bin/sh\ntouch ${mark}\n`);
    chmodSync(program, 0o755);
    chownSync(program, NOBODY, NOBODY);
    const yaml = hookMaking(mark).replace(`[touch, ${mark}]`, `[${program}]`);
    writeFileSync(join(home, 'a.yaml'), yaml, { mode: 0o644 });
    const ran = await handoverAs(['run', home, '--once']);
    expect(ran.stderr).toContain(`chown root ${program}`);
    expect(ran.code).toBe(1);
    expect(existsSync(mark)).toBe(false);
  });
});

describe.skipIf(!isRoot)('Every command on a directory that another user may change (needs root)', () => {
  const COMMANDS: Readonly<Record<string, (home: string) => readonly string[]>> = {
    run: (home) => ['run', home],
    certgen: (home) => ['certgen', '--preset', 'envoy-gateway', '--home', `dir:${home}`],
    status: (home) => ['status', '--home', `dir:${home}`],
    rotate: (home) => ['rotate', 'internal', '--home', `dir:${home}`],
  };
  test.each(Object.keys(COMMANDS))(
    '%s by root on a directory that another user may change names the path and the remedy in one line',
    async (name) => {
      const { root, home } = world();
      writeFileSync(join(home, 'a.yaml'), STARTING_POINT, { mode: 0o644 });
      chownSync(root, NOBODY, NOBODY);
      const ran = await handoverAs(COMMANDS[name]?.(home) ?? []);
      expect(ran.code).toBe(1);
      expect(ran.stderr).toBe(
        `HOME_FOREIGN_OWNER: ${root} belongs to user ${NOBODY}, and that user could change what root does; run as that user, or check the contents and chown root ${root}\n`,
      );
      expect(readdirSync(home)).toEqual(['a.yaml']);
    },
  );

  test.each(['init', 'certgen'])(
    '%s by root creates nothing below a folder of another user',
    async (name) => {
      const { root, home } = world();
      chownSync(root, NOBODY, NOBODY);
      const below = join(home, 'new/home');
      const args = name === 'init' ? ['init', below] : (COMMANDS.certgen?.(below) ?? []);
      expect((await handoverAs(args)).stderr).toMatch(/^HOME_FOREIGN_OWNER: .* chown root .*\n$/);
      expect(existsSync(join(home, 'new'))).toBe(false);
    },
  );

  test('a user without rights can run a directory of their own below a sticky one, and not one of a third user', async () => {
    const mine = folder(NOBODY);
    expect(await handoverAs(['init', mine], NOBODY)).toMatchObject({ code: 0, stderr: '' });
    expect(await handoverAs(['run', mine, '--once'], NOBODY)).toMatchObject({ code: 0, stderr: '' });
    chownSync(mine, 1234, 1234);
    expect((await handoverAs(['run', mine, '--once'], NOBODY)).stderr).toMatch(
      /^HOME_FOREIGN_OWNER: .* belongs to user 1234, .* chown 65534 /,
    );
  });
});
