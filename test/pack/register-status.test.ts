// Against: the packed package, and the npm of this machine.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type Form, Program, placeOf, speaksFor } from '../../packages/runtime/test/family.ts';
import { NODES, nodeOf, programs } from './src/project.ts';
import { start } from './src/run.ts';
import { cas, Files } from './src/world.ts';

const cwd = programs();
const NODE_OPTIONS = `--import=${join(cwd, 'node_modules/@handover/runtime/dist/register.js')}`;

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const world = async (form: Form, node: string) => {
  const files = new Files(cwd);
  const { setting, read } = await placeOf(form, files.folder);
  const env = { ...files.env, NODE_OPTIONS, HANDOVER_STATUS: setting };
  const program = () => {
    const started = new Program(files.folder, node, [], env);
    ends.unshift(() => started.end());
    return started;
  };
  return { files, read, env, program };
};

const FORMS: readonly [Form, string][] = [
  ...NODES.map((version): [Form, string] => ['port', version]),
  ['socket', '24'],
  ['file', '24'],
];

describe.each(FORMS)('HANDOVER_STATUS is inherited: a %s, on Node %s', (form, version) => {
  const node = nodeOf(version);

  test('the status speaks for the program and its children; one that stops is silent, one that ends leaves', async () => {
    const { files, read, program } = await world(form, node);
    const parent = program();
    await parent.ready(1);
    parent.tell('fork');
    parent.tell('fork');
    const pids = await parent.ready(3);
    await speaksFor(read, pids);
    const [, stopped = 0, other = 0] = pids;
    process.kill(stopped, 'SIGSTOP');
    files.put({ 'ca.crt': cas[1].pem + cas[0].pem });
    await expect
      .poll(async () => (await read()).processes, { timeout: 20_000 })
      .toEqual(expect.arrayContaining([{ pid: stopped, silent: true }]));
    process.kill(stopped, 'SIGCONT');
    await expect
      .poll(async () => (await read()).sources.map(({ pids: holders, loads }) => [holders?.length, loads]), {
        timeout: 20_000,
      })
      .toEqual([
        [3, 2],
        [3, 1],
      ]);
    await speaksFor(read, pids);
    process.kill(stopped, 'SIGKILL');
    await speaksFor(read, [parent.pid, other]);
    process.kill(parent.pid, 'SIGKILL');
    expect(await speaksFor(read, [other])).toMatchObject({ pid: other });
  });

  test('a process that takes the place before the others knows of them', async () => {
    const { read, program } = await world(form, node);
    const parent = program();
    await parent.ready(1);
    parent.tell('fork');
    const [, stopped = 0] = await parent.ready(2);
    await speaksFor(read, [parent.pid, stopped]);
    process.kill(stopped, 'SIGSTOP');
    process.kill(parent.pid, 'SIGKILL');
    const fresh = program();
    await fresh.ready(1);
    await expect.poll(async () => (await read()).pid, { timeout: 20_000 }).toBe(fresh.pid);
    expect((await read()).processes).toEqual([{ pid: fresh.pid }, { pid: stopped, silent: true }]);
  });
});

test('npm start: the status speaks for npm and for the program, and for the program when npm is killed', async () => {
  const { files, read, env } = await world('port', process.execPath);
  writeFileSync(files.path('package.json'), JSON.stringify({ scripts: { start: 'node app.cjs' } }));
  writeFileSync(
    files.path('app.cjs'),
    "setInterval(() => undefined, 1_000); console.error('pid ' + process.pid);",
  );
  const npm = start(files.folder, 'npm', ['start'], env);
  ends.push(async () => npm.child.kill('SIGKILL'));
  let said = '';
  npm.child.stderr?.on('data', (text) => {
    said += text;
  });
  await expect.poll(() => said, { timeout: 60_000 }).toMatch(/pid \d+/);
  const app = Number(/pid (\d+)/.exec(said)?.[1]);
  ends.unshift(async () => process.kill(app, 'SIGKILL'));
  await speaksFor(read, [npm.child.pid ?? 0, app]);
  npm.child.kill('SIGKILL');
  await speaksFor(read, [app]);
});

test('a program that the first process waits for does not start, and says what to do', async () => {
  const { program } = await world('port', process.execPath);
  const parent = program();
  await parent.ready(1);
  parent.tell('spawnSync');
  const { status, stderr } = await parent.saying('status');
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^@handover\/runtime\/register: STATUS_LISTEN_FAILED: .*spawnSync.*set HANDOVER_STATUS/,
    ),
  ]);
});
