import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { besideRuntime } from '../../test/beside-runtime.ts';
import { attempt, type Form, Program, pidsOf, placeOf, sorted, speaksFor } from '../../test/family.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { eventually } from '../../test/world.ts';
import { systemClock } from '../clock.ts';
import { listenOnSocket } from './http.ts';

const one = new MockCa('one');
const two = new MockCa('two');
const stage = besideRuntime();

/** Only root can become another user. */
const asRoot = test.skipIf(process.getuid?.() !== 0);

/** Takes every process as a sibling, as another user. */
const IMPOSTOR = `
process.umask(0);
process.setgid(65534);
process.setuid(65534);
require('node:http').createServer().on('upgrade', (request, socket) => {
  socket.on('error', () => undefined);
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nconnection: upgrade\\r\\nupgrade: handover-siblings\\r\\n\\r\\n');
  socket.write('{"members":[1]}\\n');
}).listen(JSON.parse(process.argv[1]), () => console.log('listens'));
`;

const world = async (form: Form) => {
  const volume = stage.scope.volume({ 'ca.crt': one.pem });
  const { setting, place, read } = await placeOf(form, volume.dir);
  const env = {
    NODE_OPTIONS: `--import=${join(stage.dir, 'register.mjs')}`,
    HANDOVER_CA: volume.path('ca.crt'),
    HANDOVER_STATUS: setting,
  };
  const start = (more: Readonly<Record<string, string>> = {}): Program => {
    const program = new Program(stage.dir, process.execPath, [], { ...env, ...more });
    stage.scope.after(() => program.end());
    return program;
  };
  return { volume, place, read, start };
};

describe.each<Form>(['port', 'socket', 'file'])(
  'A program under register that forks, status by %s',
  (form) => {
    test(`a program that forks is named with all its processes in the status by ${form}; one that is behind, or stopped, is in every answer`, async () => {
      const { volume, read, start } = await world(form);
      const behind = stage.scope.volume({ 'ca.crt': one.pem });
      const program = start();
      await program.ready(1);
      program.tell('fork', { HANDOVER_CA: behind.path('ca.crt') });
      program.tell('fork');
      const pids = await program.ready(3);
      await speaksFor(read, pids);
      volume.write({ 'ca.crt': two.pem });
      await eventually(async () => {
        const document = await read();
        expect(pidsOf(document)).toEqual(sorted(pids));
        const { sources } = document;
        const isFollowed = sources.some(({ pids: holders, loads }) => loads === 2 && holders?.length === 2);
        return isFollowed && sources.length === 2;
      });
      const { started = 0 } = await program.saying('started');
      process.kill(started, 'SIGSTOP');
      behind.write({ 'ca.crt': two.pem });
      volume.write({ 'ca.crt': two.pem + one.pem });
      await eventually(async () =>
        (await read()).processes.some(({ pid, silent }) => pid === started && silent === true),
      );
      expect(pidsOf(await read())).toEqual(sorted(pids));
      process.kill(started, 'SIGKILL');
      await speaksFor(
        read,
        pids.filter((pid) => pid !== started),
      );
    });

    test(`a program that forks has an answer for all that are left in the status by ${form} when its first process ends`, async () => {
      const { read, start } = await world(form);
      const program = start();
      await program.ready(1);
      program.tell('fork');
      program.tell('fork');
      const pids = await program.ready(3);
      expect((await speaksFor(read, pids)).pid).toBe(program.pid);
      process.kill(program.pid, 'SIGKILL');
      const left = sorted(pids.filter((pid) => pid !== program.pid));
      await eventually(async () => {
        const document = await attempt(read);
        if (document === undefined) return false;
        expect(pidsOf(document)).toEqual(expect.arrayContaining([...left]));
        return document.pid !== program.pid;
      });
      await speaksFor(read, left);
    });

    test(`a program that forks is not answered for in the status by ${form} by a new process that knows none of the others`, async () => {
      const { read, start } = await world(form);
      const program = start();
      await program.ready(1);
      program.tell('fork');
      const [, busy = 0] = await program.ready(2);
      await speaksFor(read, [program.pid, busy]);
      process.kill(busy, 'SIGSTOP');
      process.kill(program.pid, 'SIGKILL');
      const fresh = start();
      await fresh.ready(1);
      await eventually(async () => (await attempt(read))?.pid === fresh.pid);
      const { processes } = await read();
      expect(processes).toEqual([{ pid: fresh.pid }, { pid: busy, silent: true }]);
      process.kill(busy, 'SIGCONT');
      await speaksFor(read, [fresh.pid, busy]);
    });

    test(`a program under node:cluster is named with its workers in the status by ${form}`, async () => {
      const { read, start } = await world(form);
      const program = start();
      await program.ready(1);
      program.tell('cluster');
      program.tell('cluster');
      await eventually(() => program.said.filter(({ started }) => started !== undefined).length === 2);
      await speaksFor(read, [program.pid, ...program.said.flatMap(({ started = [] }) => started)]);
    });

    asRoot('does not report to a process of another user', async () => {
      const { volume, place, start } = await world(form);
      for (const path of [volume.dir, join(volume.dir, '..data')]) chmodSync(path, 0o777);
      const { port, socket, file } = place as { port?: number; socket?: string; file?: string };
      const where = port ?? `${file ?? socket}.siblings`;
      const impostor = spawn(process.execPath, ['-e', IMPOSTOR, JSON.stringify(where)]);
      stage.scope.after(() => impostor.kill('SIGKILL'));
      await once(impostor.stdout, 'data');
      await expect(start().ready(1)).rejects.toThrow(/STATUS_LISTEN_FAILED: .*another user/);
    });

    asRoot('takes no process of another user, and reports to none', async () => {
      const { volume, read, start } = await world(form);
      for (const path of [volume.dir, join(volume.dir, '..data')]) chmodSync(path, 0o777);
      // It changes its user by itself: another user may not be allowed to start this Node.
      const drop = join(stage.dir, 'drop.mjs');
      writeFileSync(drop, 'process.setgid(65534); process.setuid(65534);');
      const asOther = { NODE_OPTIONS: `--import=${drop} --import=${join(stage.dir, 'register.mjs')}` };
      for (const [first, second] of [
        [{}, asOther],
        [asOther, {}],
      ] as const) {
        const holder = start(first);
        await holder.ready(1);
        await expect(start(second).ready(1)).rejects.toThrow(/STATUS_LISTEN_FAILED: .*another user/);
        expect(pidsOf(await read())).toEqual([holder.pid]);
        await holder.end();
        for (const left of ['status.json', 'status.json.siblings', 'status.sock', 'status.sock.siblings'])
          rmSync(volume.path(left), { force: true });
      }
    });
  },
);

test('a program does not start while the process that answers waits for it: no answer could name it', async () => {
  const { start } = await world('port');
  const program = start();
  await program.ready(1);
  program.tell('spawnSync');
  const { status, stderr } = await program.saying('status');
  expect(status).toBe(1);
  expect(stderr?.trim().split('\n')).toEqual([
    expect.stringMatching(/^@handover\/runtime\/register: STATUS_LISTEN_FAILED: .* waits for this process/),
  ]);
});

asRoot('a name on the roll counts only for the process that holds it', async () => {
  const { read, start } = await world('port');
  const program = start();
  await program.ready(1);
  const bystander = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1_000)']);
  stage.scope.after(() => bystander.kill('SIGKILL'));
  const [, name = ''] =
    new RegExp(`@(handover-status/[0-9a-f]+/)${program.pid}/`).exec(readFileSync('/proc/net/unix', 'utf8')) ??
    [];
  const forged = createServer().listen(`\0${name}${bystander.pid}/forged/`);
  stage.scope.after(() => forged.close());
  await once(forged, 'listening');
  expect((await read()).processes).toEqual([{ pid: program.pid }]);
});

test('a private status socket is private from the start', async () => {
  const path = stage.scope.volume({}).path('private.sock');
  const server = createServer();
  stage.scope.after(() => server.close());
  const mask = process.umask(0);
  const listening = listenOnSocket(server, path, 0o600, systemClock);
  process.umask(mask);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await listening;
});
