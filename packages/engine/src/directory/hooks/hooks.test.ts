import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { atRest } from '@handover/test-api-server';
import { expect, onTestFinished, test, vi } from 'vitest';
import { loaded } from '../../../test/directories.ts';
import { HookHomes, hookOf, MESH, pass, phaseOf, said, says, sh, yamlOf } from '../../../test/hook-home.ts';
import { converge } from '../../index.ts';

const homes = new HookHomes();

test('a hook that did not end in time is tried again soon, then after twice as long each time, and not after more than 5 min', async () => {
  const home = homes.with({ leaf: sh('sleep 300') }, { hookTimes: { reloadMs: 20 } });
  const waits: number[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    await pass(home);
    const { at, nextTry, failures, message } = (await hookOf(home)) ?? {};
    expect(message).toContain('did not end within 0.02 s');
    expect(failures).toBe(attempt + 1);
    const wait = Date.parse(nextTry ?? '') - Date.parse(at ?? '');
    waits.push(wait / 1_000);
    homes.later(wait);
  }
  expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
});

test('a hook gets the reason, the object and the place of the files, and little else of our environment', async () => {
  vi.stubEnv('SECRET_OF_THE_SERVICE', 'x');
  const home = homes.with({ leaf: sh('env | sort > env') });
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

test('a hook that two passes find due at the same moment runs once', async () => {
  const home = homes.with({ leaf: sh('echo ran >> runs') });
  await converge(loaded(home), MESH);
  await home.hooks.idle();
  rmSync(join(home.path, 'runs'));
  await home.hookRecords.keepOnly([]);
  const snapshot = await home.fresh();
  await Promise.all([home.hooks.tell(snapshot, MESH), home.hooks.tell(snapshot, MESH)]);
  await home.hooks.idle();
  expect(readFileSync(join(home.path, 'runs'), 'utf8')).toBe('ran\n');
});

test('a hook runs for each change that it is declared for, and for no other', async () => {
  const line = '$HANDOVER_REASON $HANDOVER_GENERATION';
  const reloads = {
    both: homes.with({ leaf: says(line) }),
    leaf: homes.with({ leaf: says(line).replace('}', ', on: [leaf]}') }),
    trust: homes.with({ leaf: says(line).replace('}', ', on: [trust]}') }),
  };
  for (const home of Object.values(reloads)) {
    await pass(home);
    await homes.rotate(home, 'r');
  }
  expect(said(reloads.both)).toEqual(['leaf,trust 1', 'trust 1', 'leaf 2', 'trust 2']);
  expect(said(reloads.leaf)).toEqual(['leaf 1', 'leaf 2']);
  expect(said(reloads.trust)).toEqual(['trust 1', 'trust 1', 'trust 2']);
});

test('a hook that was edited runs anew; one that was not does not, in another process either', async () => {
  const home = homes.with({ leaf: says('first') });
  await pass(home);
  await pass(homes.home(home.path));
  expect(said(home)).toEqual(['first']);
  writeFileSync(join(home.path, 'mesh.yaml'), yamlOf({ leaf: says('second') }));
  await pass(home);
  expect(said(home)).toEqual(['first', 'second']);
});

test('a hook of a bundle runs when its folder was deleted and written again with the same content', async () => {
  const home = homes.with({
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
  homes.later(1_000);
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

test('a hook that fails is left alone for a while, and tried at once by another process', async () => {
  const home = homes.with({ leaf: sh('echo x >> said; exit 7') });
  await pass(home);
  expect(await hookOf(home)).toMatchObject({ state: 'failed', exitCode: 7, failures: 1 });
  await pass(home);
  expect(said(home)).toHaveLength(1);
  await pass(homes.home(home.path));
  expect(said(home)).toHaveLength(2);
  homes.later(300_000);
  await pass(home);
  expect(said(home)).toHaveLength(3);
  expect(await hookOf(home)).toMatchObject({ failures: 3 });
});

test('a hook shows one line of what its program wrote, without control characters and without keys', async () => {
  const home = homes.with({
    leaf: sh(String.raw`printf 'a\nfailed \033[31mred %s\n' "$(head -c 60 tls | base64 -w0)" >&2; exit 1`),
  });
  writeFileSync(join(home.path, 'tls'), 'k'.repeat(60));
  await pass(home);
  expect((await hookOf(home))?.message).toBe('sh ended with 1, stderr: "a / failed [31mred […]"');
});

test('a hook whose record is damaged runs again', async () => {
  const home = homes.with({ leaf: says('x') });
  await pass(home);
  const record = join(home.path, 'state/reloads/Leaf_default_web.json');
  const { hook } = JSON.parse(readFileSync(record, 'utf8')) as { hook: string };
  for (const [index, text] of ['{', '[]', '{"hook":1}', `{"hook":"${hook}","told":{"a":null}}`].entries()) {
    writeFileSync(record, text);
    await pass(home);
    expect(said(home)).toHaveLength(index + 2);
  }
});

test('the recipe’s hook gives the machine’s trust store one file for each CA, and takes back that of a CA that is gone', async () => {
  const page = readFileSync(new URL('../../../../../docs/recipes/hooks.md', import.meta.url), 'utf8');
  const recipe =
    page.split('```yaml\n').find((block) => /^apiVersion[\s\S]*update-ca-certificates/.test(block)) ?? '';
  const path = homes.make('');
  const [store, bin] = [join(path, 'store'), join(path, 'bin')];
  for (const folder of [store, bin]) mkdirSync(folder);
  // The real one would change this machine: it is in the tier of examples.
  const stub = `#!/bin/sh\necho $(grep -ch BEGIN internal-*.crt) >> ${path}/said\n`;
  writeFileSync(join(bin, 'update-ca-certificates'), stub, { mode: 0o755 });
  writeFileSync(
    join(path, 'mesh.yaml'),
    [
      yamlOf({}),
      (recipe.split('```')[0] ?? '')
        .replace('/usr/local/share/ca-certificates', store)
        .replace('default/internal', MESH),
    ].join('\n---\n'),
  );
  vi.stubEnv('PATH', `${bin}:${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const home = homes.home(path);
  await pass(home);
  await homes.rotate(home, 'r');
  expect(said(home)).toEqual(['1', '1 1', '1']);
});

test('the lock is held until running hooks have ended and their results are written', async () => {
  const home = homes.with({ leaf: sh('until test -e go; do sleep 0.02; done; echo ran >> said') });
  const lock = await home.lock();
  await converge(loaded(home), MESH);
  let isFree = false;
  const released = lock.release().then(() => {
    isFree = true;
  });
  await atRest();
  expect([isFree, said(home)]).toEqual([false, []]);
  writeFileSync(join(home.path, 'go'), '');
  await released;
  expect(said(home)).toEqual(['ran']);
  expect(await hookOf(home)).toMatchObject({ state: 'done' });
});

test('a rotation with reloadWithin: 0s still waits until each reload hook has run', async () => {
  const path = homes.make(
    yamlOf({ leaf: sh('test -e works && echo "$HANDOVER_REASON" >> said') }).replace(
      'reloadWithin: 20s',
      'reloadWithin: 0s',
    ),
  );
  const home = homes.home(path);
  await pass(home);
  await home.requests.ask({ authority: MESH, rotate: 'r' });
  for (let passes = 0; passes < 4; passes++) {
    homes.later(400_000);
    await pass(home);
    expect(await phaseOf(home)).toBe('Introducing');
  }
  writeFileSync(join(path, 'works'), '');
  for (let passes = 0; passes < 4; passes++) {
    homes.later(400_000);
    await pass(home);
  }
  expect(await phaseOf(home)).toBe('Stable');
  expect(said(home)).toEqual(['leaf,trust', 'leaf', 'trust']);
});
