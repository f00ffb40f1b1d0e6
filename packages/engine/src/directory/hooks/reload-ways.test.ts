import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer as createPlainServer } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, onTestFinished, test } from 'vitest';
import { loaded } from '../../../test/directories.ts';
import { MESH_ID, MeshHomes } from '../../../test/mesh-home.ts';
import { type AuthorityOutcome, converge, type DirectoryHome } from '../../index.ts';

const homes = new MeshHomes();
const scratch = temporaryFolder();
/** Until there is nothing to do, and no hook runs. */
const pass = async (home: DirectoryHome): Promise<AuthorityOutcome> => {
  for (;;) {
    const outcome = await converge(loaded(home), MESH_ID);
    if (!(await home.hooks.idle())) return outcome;
  }
};
/** Why hooks failed, after a pass. */
const failures = async (home: DirectoryHome): Promise<readonly string[]> =>
  (await pass(home)).observation.hooks.flatMap(({ hook, message }) =>
    message === null ? [] : [`${hook}: ${message}`],
  );

test('A reload hook runs after each write of its files, as a command without a shell, and not otherwise', async () => {
  const log = join(scratch, 'reloads $(x)');
  const command = JSON.stringify(['sh', '-c', 'printf r >> "$1"', 'sh', log]);
  const home = homes.mesh('', `, reload: {command: ${command}}`);
  const count = () => readFileSync(log, 'utf8').length;
  await pass(home);
  expect(count()).toBe(1);
  await pass(home);
  expect(count()).toBe(1);
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  await pass(home);
  expect(count()).toBe(2);
});

test('A reload hook that fails keeps reloadWithin from passing, until it works', async () => {
  const flag = join(scratch, 'works');
  const command = JSON.stringify(['sh', '-c', 'test -e "$1" || exit 3', 'sh', flag]);
  writeFileSync(flag, '');
  const home = homes.mesh('', `, reload: {command: ${command}}`);
  await pass(home);
  rmSync(flag);
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  expect(await failures(home)).toEqual([expect.stringMatching(/^Leaf default\/a: .* ended with 3/)]);
  homes.later(1_000_000);
  expect((await pass(home)).plan.phase).toBe('Introducing');
  writeFileSync(flag, '');
  homes.later(300_000);
  await pass(home);
  expect((await pass(home)).plan.phase).toBe('Introducing');
  homes.later(20_000);
  expect((await pass(home)).plan.phase).toBe('Activating');
});

test('A reload hook sends a signal to the pid in a file, or asks over HTTP', async () => {
  const pidFile = join(scratch, 'pid');
  const program = spawn('sh', ['-c', 'trap "exit 7" USR2; echo up; while :; do sleep 0.02; done']);
  await once(program.stdout, 'data');
  writeFileSync(pidFile, `${program.pid}\n`);
  const home = homes.mesh('', `, reload: {signal: {pidFile: ${pidFile}, signal: SIGUSR2}}`);
  const closed = once(program, 'close');
  expect(await failures(home)).toEqual([]);
  expect(await closed).toEqual([7, null]);
  writeFileSync(pidFile, '-1');
  const other = homes.mesh('', `, reload: {signal: {pidFile: ${pidFile}}}`);
  expect((await failures(other))[0]).toContain('holds no pid');
  const asked: (string | undefined)[] = [];
  const server = createHttpServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(asked.length === 1 ? 500 : 204).end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const third = homes.mesh('', `, reload: {http: {url: "http://127.0.0.1:${port}/reload"}}`);
  expect(await failures(third)).toEqual([expect.stringContaining('answered with status 500')]);
  homes.later(300_000);
  expect(await failures(third)).toEqual([]);
  expect(new Set(asked)).toEqual(new Set(['POST /reload']));
  server.close();
});

test('a hook whose server goes over to another protocol, or says nothing, has failed', async () => {
  for (const [answer, why] of [
    [
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
      'answered with status 101',
    ],
    ['', /connection (broke off|ended)/],
  ] as const) {
    const server = createPlainServer(
      (socket) =>
        void socket
          .on('error', () => {})
          .resume()
          .end(answer),
    );
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const home = homes.mesh('', `, reload: {http: {url: "http://127.0.0.1:${port}/"}}`);
    expect(await failures(home)).toEqual([expect.stringMatching(why)]);
  }
});
