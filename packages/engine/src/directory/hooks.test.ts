import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { day, duration, instant } from '@handover/material';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { Directories, loaded } from '../../test/directories.ts';
import { type DirectoryHome, type DirectoryOptions, passOnce, statusOf } from '../index.ts';

const directories = new Directories();
afterAll(() => directories.end());

const API = 'apiVersion: handover.dev/v1alpha1';
const MESH = 'default/mesh';

interface Reloads {
  readonly leaf?: string;
  readonly own?: string;
  readonly bundle?: string;
  readonly static?: string;
  readonly consumers?: string;
  readonly leafLifetime?: string;
}

const part = (reload: string | undefined): string => (reload === undefined ? '' : `, reload: ${reload}`);

const yamlOf = ({
  leaf,
  own,
  bundle,
  static: company,
  consumers = '',
  leafLifetime = '90d',
}: Reloads): string =>
  [
    `${API}\nkind: Authority\nmetadata: {name: mesh}\nspec: {lifetime: 1y, rotation: {reloadWithin: 20s}, consumers: [${consumers}], bundle: {configMapName: mesh-trust${part(own)}}}`,
    `${API}\nkind: Leaf\nmetadata: {name: web}\nspec: {authority: mesh, dnsNames: [web], lifetime: ${leafLifetime}${part(leaf)}}`,
    `${API}\nkind: TrustBundle\nmetadata: {name: shared}\nspec: {sources: [{authority: default/mesh}], targets: [{configMap: {name: shared}}]${part(bundle)}}`,
    ...(company === undefined
      ? []
      : [
          `${API}\nkind: TrustBundle\nmetadata: {name: again}\nspec: {sources: [{configMap: {name: shared}}], targets: [{configMap: {name: again}}]${part(company)}}`,
        ]),
  ].join('\n---\n');

const sh = (script: string): string => `{command: ${JSON.stringify(['sh', '-c', script])}}`;
/** Appends one line to a file of the home. */
const says = (line: string): string => sh(`echo "${line}" >> said`);
const restart = (script: string): string => `{restart: {command: ${JSON.stringify(['sh', '-c', script])}}}`;
const RESTARTS = restart('echo "restart for $HANDOVER_REASON of generation $HANDOVER_GENERATION" >> said');

const homeOf = (reloads: Reloads, options: DirectoryOptions = {}): DirectoryHome =>
  directories.home(directories.make(yamlOf(reloads)), undefined, options);

const pass = async (home: DirectoryHome): Promise<void> => passOnce(loaded(home), home.load(), () => {});

const said = ({ path }: DirectoryHome): readonly string[] =>
  existsSync(join(path, 'said')) ? readFileSync(join(path, 'said'), 'utf8').trim().split('\n') : [];

const later = (ms: number): void => {
  directories.now = instant(directories.now + ms);
};

const phaseOf = async (home: DirectoryHome): Promise<string | undefined> =>
  (await statusOf(loaded(home).fresh)).authorities[0]?.phase;

const hookOf = async (home: DirectoryHome) => (await statusOf(loaded(home).fresh)).authorities[0]?.hooks[0];

/** A whole rotation of consumers that rest on reloadWithin. */
const rotate = async (home: DirectoryHome, id: string): Promise<void> => {
  await home.requests.ask({ authority: MESH, rotate: id });
  for (let passes = 0; passes < 4; passes++) {
    await pass(home);
    later(30_000);
  }
  expect(await phaseOf(home)).toBe('Stable');
};

const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
};

describe('a hook', () => {
  test('that does not end is stopped with its children, and that is what its result says', async () => {
    const leaf = sh('trap "" TERM; echo $$ > pids; sleep 300 & echo $! >> pids; echo warming up >&2; wait');
    const home = homeOf({ leaf }, { hookTimes: { reloadMs: 1_000 } });
    await pass(home);
    expect(await hookOf(home)).toMatchObject({
      state: 'failed',
      exitCode: null,
      message: 'sh did not end within 1 s; it and its children were stopped, stderr: "warming up"',
    });
    const pids = readFileSync(join(home.path, 'pids'), 'utf8').trim().split('\n').map(Number);
    expect(pids).toHaveLength(2);
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]));
  });

  test('hears why, of what, and where the files are, and little else of our environment', async () => {
    vi.stubEnv('SECRET_OF_THE_SERVICE', 'x');
    const home = homeOf({ leaf: sh('env | sort > env') });
    await pass(home);
    vi.unstubAllEnvs();
    const names = readFileSync(join(home.path, 'env'), 'utf8').trim().split('\n');
    expect(names.filter((line) => line.startsWith('HANDOVER_'))).toEqual([
      'HANDOVER_AUTHORITY=default/mesh',
      `HANDOVER_DIRECTORY=${home.path}/out/default/secrets/web`,
      'HANDOVER_GENERATION=1',
      'HANDOVER_LEAF=default/web',
      'HANDOVER_REASON=leaf,trust',
    ]);
    expect(names.some((line) => line.startsWith('PATH='))).toBe(true);
    expect(names.some((line) => line.startsWith('SECRET_OF_THE_SERVICE='))).toBe(false);
  });

  test('runs for each change that it is declared for, and for no other', async () => {
    const line = '$HANDOVER_REASON $HANDOVER_GENERATION';
    const reloads = {
      both: homeOf({ leaf: says(line) }),
      leaf: homeOf({ leaf: says(line).replace('}', ', on: [leaf]}') }),
      trust: homeOf({ leaf: says(line).replace('}', ', on: [trust]}') }),
    };
    for (const home of Object.values(reloads)) {
      await pass(home);
      await rotate(home, 'r');
    }
    expect(said(reloads.both)).toEqual(['leaf,trust 1', 'trust 1', 'leaf 2', 'trust 2']);
    expect(said(reloads.leaf)).toEqual(['leaf 1', 'leaf 2']);
    expect(said(reloads.trust)).toEqual(['trust 1', 'trust 1', 'trust 2']);
  });

  test('that was edited runs anew; one that was not does not, in another process either', async () => {
    const home = homeOf({ leaf: says('first') });
    await pass(home);
    await pass(directories.home(home.path));
    expect(said(home)).toEqual(['first']);
    writeFileSync(join(home.path, 'mesh.yaml'), yamlOf({ leaf: says('second') }));
    await pass(home);
    expect(said(home)).toEqual(['first', 'second']);
  });

  test('of a bundle runs when its folder was deleted and written again with the same content', async () => {
    const home = homeOf({
      own: says('own'),
      bundle: says('shared $HANDOVER_BUNDLE'),
      static: says('static'),
    });
    // Its source is made by this pass.
    await expect(pass(home)).rejects.toThrow('does not exist');
    await pass(home);
    expect([...said(home)].sort()).toEqual(['own', 'shared shared', 'static']);
    for (const name of ['mesh-trust', 'shared', 'again'])
      rmSync(join(home.path, 'out/default/configmaps', name), { recursive: true });
    later(1_000);
    await expect(pass(home)).rejects.toThrow('does not exist');
    await pass(home);
    expect([...said(home)].sort()).toEqual([
      'own',
      'own',
      'shared shared',
      'shared shared',
      'static',
      'static',
    ]);
  });

  test('that fails is left alone for a while, and tried at once by another process', async () => {
    const home = homeOf({ leaf: sh('echo x >> said; exit 7') });
    await pass(home);
    expect(await hookOf(home)).toMatchObject({ state: 'failed', exitCode: 7, failures: 1 });
    await pass(home);
    expect(said(home)).toHaveLength(1);
    await pass(directories.home(home.path));
    expect(said(home)).toHaveLength(2);
    later(300_000);
    await pass(home);
    expect(said(home)).toHaveLength(3);
    expect(await hookOf(home)).toMatchObject({ failures: 3 });
  });

  test('shows one line of what its program wrote, without control characters and without keys', async () => {
    const home = homeOf({
      leaf: sh(String.raw`printf 'a\nfailed \033[31mred %s\n' "$(head -c 60 tls | base64 -w0)" >&2; exit 1`),
    });
    writeFileSync(join(home.path, 'tls'), 'k'.repeat(60));
    await pass(home);
    expect((await hookOf(home))?.message).toBe('sh ended with 1, stderr: "failed [31mred […]"');
  });

  test('whose record is damaged runs again', async () => {
    const home = homeOf({ leaf: says('x') });
    await pass(home);
    const record = join(home.path, 'state/reloads/Leaf_default_web.json');
    const { hook } = JSON.parse(readFileSync(record, 'utf8')) as { hook: string };
    for (const [index, text] of ['{', '[]', '{"hook":1}', `{"hook":"${hook}","told":{"a":null}}`].entries()) {
      writeFileSync(record, text);
      await pass(home);
      expect(said(home)).toHaveLength(index + 2);
    }
  });
});

describe('a program that is restarted', () => {
  test('restarts once per rotation, which ends at once, and not at its first installation', async () => {
    const home = homeOf({ leaf: RESTARTS, own: RESTARTS });
    await pass(home);
    expect(said(home)).toEqual([]);
    expect(await hookOf(home)).toMatchObject({ state: 'idle' });
    later(1_000);
    await home.requests.ask({ authority: MESH, rotate: 'r' });
    await pass(home);
    // The shared bundle has readers of its own, which rest on reloadWithin.
    later(30_000);
    await pass(home);
    later(1_000);
    await pass(home);
    later(30_000);
    await pass(home);
    expect(await phaseOf(home)).toBe('Stable');
    expect([...said(home)].sort()).toEqual([
      'restart for leaf,trust of generation 2',
      'restart for trust of generation 2',
    ]);
  });

  test('is what a rotation waits for, and its restart is the evidence', async () => {
    const works = 'test -e works && echo restarted >> said';
    const home = homeOf({ leaf: restart(`${works} || { echo no database >&2; exit 1; }`) });
    await pass(home);
    await home.requests.ask({ authority: MESH, rotate: 'r' });
    for (let passes = 0; passes < 3; passes++) {
      later(400_000);
      await pass(home);
    }
    const [stuck] = (await statusOf(loaded(home).fresh)).authorities;
    expect(stuck).toMatchObject({ phase: 'Activating', hooks: [{ state: 'failed', how: 'restart' }] });
    expect(stuck?.blockedBy.map(({ consumer }) => consumer)).toContain('program of Leaf default/web');
    expect(stuck?.notes.join()).toContain('its restart failed: sh ended with 1, stderr: "no database"');
    writeFileSync(join(home.path, 'works'), '');
    later(400_000);
    await pass(home);
    const [freed] = (await statusOf(loaded(home).fresh)).authorities;
    expect(freed).toMatchObject({ phase: 'Stable', hooks: [{ state: 'done', exitCode: 0 }] });
    expect(freed?.consumers).toContainEqual(
      expect.objectContaining({ name: 'program of Leaf default/web', evidence: 'restarted' }),
    );
    expect(said(home)).toEqual(['restarted']);
  });

  test('restarts after a renewal', async () => {
    const home = homeOf({ leaf: RESTARTS, leafLifetime: '30d' });
    await pass(home);
    later(21 * day);
    await pass(home);
    expect(said(home)).toEqual(['restart for leaf,trust of generation 1']);
    later(duration(day));
    await pass(home);
    expect(said(home)).toHaveLength(1);
  });

  test('and has a probe is judged by the probe for its leaf, and not asked for trust before the restart', async () => {
    const consumers =
      '{name: web, presents: true, verifies: true, leaf: web, probe: {address: "127.0.0.1:1"}}';
    const home = homeOf({ leaf: RESTARTS, consumers });
    await pass(home);
    await home.requests.ask({ authority: MESH, rotate: 'r' });
    await pass(home);
    later(30_000);
    await pass(home);
    later(400_000);
    await pass(home);
    const [stuck] = (await statusOf(loaded(home).fresh)).authorities;
    expect(stuck?.phase).toBe('Activating');
    expect(said(home)).toEqual(['restart for leaf,trust of generation 2']);
    expect(stuck?.blockedBy).toMatchObject([
      { consumer: 'web', waitsFor: expect.stringMatching(/a leaf of CA generation 2.*127\.0\.0\.1:1/) },
    ]);
  });

  test('by systemd has its unit named to systemctl as an argument', async () => {
    const bin = join(directories.make(undefined), 'bin');
    mkdirSync(bin, { mode: 0o755 });
    writeFileSync(join(bin, 'systemctl'), '#!/bin/sh\necho "$@" >> said\n', { mode: 0o755 });
    vi.stubEnv('PATH', `${bin}:${process.env.PATH}`);
    try {
      const home = homeOf({
        leaf: '{systemd: {unit: redis@6379.service, action: restart}}',
        own: '{systemd: {unit: haproxy}}',
      });
      await pass(home);
      expect(said(home)).toEqual(['reload -- haproxy']);
      await rotate(home, 'r');
      expect(said(home).filter((line) => line.startsWith('restart'))).toEqual([
        'restart -- redis@6379.service',
      ]);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

test('with reloadWithin: 0s a rotation still waits until each program was told', async () => {
  const path = directories.make(
    yamlOf({ leaf: sh('test -e works && echo "$HANDOVER_REASON" >> said') }).replace(
      'reloadWithin: 20s',
      'reloadWithin: 0s',
    ),
  );
  const home = directories.home(path);
  await pass(home);
  await home.requests.ask({ authority: MESH, rotate: 'r' });
  for (let passes = 0; passes < 4; passes++) {
    later(400_000);
    await pass(home);
    expect(await phaseOf(home)).toBe('Introducing');
  }
  writeFileSync(join(path, 'works'), '');
  for (let passes = 0; passes < 4; passes++) {
    later(400_000);
    await pass(home);
  }
  expect(await phaseOf(home)).toBe('Stable');
  expect(said(home)).toEqual(['leaf,trust', 'leaf', 'trust']);
});
