import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { HandoverError } from '@handover/material';
import { beforeEach, describe, expect, test } from 'vitest';
import { files, next, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { eventually } from '../../test/world.ts';
import { openToken, type StatusDocument, serveStatus } from '../index.ts';

const one = new MockCa('one');
const two = new MockCa('two');
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

const ask = (options: object): Promise<{ status: number | undefined; body: string }> =>
  new Promise((resolve, reject) => {
    request({ path: '/handover/status', ...options }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, body }));
    })
      .on('error', reject)
      .end();
  });

async function world() {
  const volume = scope.volume({ ...files(one.leaf(), one), token: 'very-secret' });
  const trust = await scope.trust(volume);
  const identity = await scope.identity(volume);
  const token = await openToken(volume.path('token'), { signal: scope.signal });
  trust.on('kept', () => undefined);
  identity.on('kept', () => undefined);
  token.on('kept', () => undefined);
  return { volume, trust, identity, token, sources: [trust, identity, token] };
}

test('a status port answers every question while 1,300 connections that ask nothing are held open', async () => {
  const { sources } = await world();
  const { port = 0 } = scope.add(
    await serveStatus({ port: 0, host: '127.0.0.1', sources, signal: scope.signal }),
  );
  const idle: Socket[] = [];
  for (let count = 0; count < 1_300; count++) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    idle.push(socket);
    if (count % 100 === 99) await once(socket, 'connect');
    if (count % 130 === 129) expect((await ask({ host: '127.0.0.1', port })).status).toBe(200);
  }
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => ask({ host: '127.0.0.1', port, agent: false })),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  await eventually(() => idle.filter(({ closed }) => !closed).length <= 64);
  for (const socket of idle) socket.destroy();
});

test('the status document says what is loaded: hash, anchors, leaf, loads, age, pod, and nothing secret', async () => {
  const { volume, trust, sources } = await world();
  const { port } = scope.add(
    await serveStatus({ port: 0, host: '127.0.0.1', sources, podUid: 'uid-1', signal: scope.signal }),
  );
  volume.write({ ...files(two.leaf(), two, one), token: 'very-secret' });
  await next(trust, 'reloaded');
  await eventually(async () => {
    const { body } = await ask({ port });
    return (JSON.parse(body) as StatusDocument).sources.every(
      ({ kind, loads }) => loads === (kind === 'token' ? 1 : 2),
    );
  });
  const { status, body } = await ask({ port });
  expect(status).toBe(200);
  const document = JSON.parse(body) as StatusDocument;
  expect(document).toMatchObject({ version: 1, podUid: 'uid-1', pid: process.pid });
  const [trusted, identified] = document.sources;
  expect(trusted).toMatchObject({
    kind: 'trust',
    path: volume.path('ca.crt'),
    hash: trust.hash,
    loads: 2,
  });
  expect(trusted?.anchors).toHaveLength(2);
  expect(identified?.leaf).toMatchObject({
    fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    issuerKeyId: expect.stringMatching(/^[0-9a-f]{40}$/),
    notAfter: expect.stringMatching(/Z$/),
  });
  expect(trusted?.age).toBeGreaterThanOrEqual(0);
  expect(trusted?.lastFailure).toBeUndefined();
  for (const secret of ['very-secret', 'PRIVATE']) expect(body).not.toContain(secret);
});

test('the status document names the last failure while the last good material is in use', async () => {
  const { volume, trust, sources } = await world();
  const { port } = scope.add(await serveStatus({ port: 0, host: '127.0.0.1', sources }));
  volume.write({ ...files(one.leaf(), one), 'ca.crt': '', token: 'x' });
  await eventually(() => trust.status().lastFailure !== undefined);
  const document = JSON.parse((await ask({ port })).body) as StatusDocument;
  expect(document.sources[0]?.lastFailure).toMatchObject({ reason: 'empty', code: 'FILE_EMPTY' });
  expect(document.sources[0]?.loads).toBe(1);
});

test('the status server answers one path, to be read, and nothing else', async () => {
  const { sources } = await world();
  const { port } = scope.add(await serveStatus({ port: 0, host: '127.0.0.1', sources }));
  expect((await ask({ port, path: '/' })).status).toBe(404);
  expect((await ask({ port, path: '/handover/status/../../etc/passwd' })).status).toBe(404);
  expect((await ask({ port, method: 'POST' })).status).toBe(405);
  expect(await ask({ port, method: 'HEAD' })).toEqual({ status: 200, body: '' });
});

test('the status document stays under 64 KiB: the oldest anchors are left out, and it says so', async () => {
  const anchors = Array.from({ length: 3000 }, (_, i) => i.toString(16).padStart(64, '0'));
  const many = {
    on: () => undefined,
    status: () => ({ kind: 'trust', path: '/x', anchors, loads: 1, loadedAt: '', age: 0 }) as const,
  };
  const { port } = scope.add(await serveStatus({ port: 0, host: '127.0.0.1', sources: [many, many] }));
  const { body } = await ask({ port });
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(64 * 1024);
  const document = JSON.parse(body) as StatusDocument;
  expect(document.truncated).toBe(true);
  expect(document.sources[0]?.anchors?.[0]).toBe(anchors[0]);
});

test('the status document is served over a unix socket, also where a killed process left its own behind', async () => {
  const { sources } = await world();
  const path = scope.volume({}).path('status.sock');
  const socketPath = path;
  const dead = createServer().listen(path);
  await new Promise((listening) => dead.once('listening', listening));
  // a socket file without a listener: moved away, so that closing does not remove it
  const { renameSync } = await import('node:fs');
  renameSync(path, `${path}.x`);
  await new Promise((closed) => dead.close(closed));
  renameSync(`${path}.x`, path);
  const server = await serveStatus({ socket: path, sources });
  expect((await ask({ socketPath })).status).toBe(200);
  await expect(serveStatus({ socket: path, sources })).rejects.toMatchObject({
    code: 'STATUS_LISTEN_FAILED',
  });
  await server.close();
  expect(existsSync(path)).toBe(false);
});

test('the status document in a file is replaced whole at every change', async () => {
  const { volume, trust, sources } = await world();
  const file = scope.volume({}).path('status.json');
  scope.add(await serveStatus({ file, sources }));
  const read = () => JSON.parse(readFileSync(file, 'utf8')) as StatusDocument;
  expect(read().sources[0]?.loads).toBe(1);
  // Held open, so that the number of the old file cannot be given to a new one.
  const old = openSync(file, 'r');
  scope.after(() => closeSync(old));
  volume.write({ ...files(two.leaf(), two), token: 'x' });
  await next(trust, 'reloaded');
  await eventually(() => read().sources[0]?.loads === 2);
  expect(statSync(file).ino).not.toBe(fstatSync(old).ino);
});

test('a place for the status that is taken, or none, or two, is a coded error', async () => {
  const { sources } = await world();
  const { port } = scope.add(await serveStatus({ port: 0, host: '127.0.0.1', sources }));
  const taken = serveStatus({ port: port ?? 0, host: '127.0.0.1', sources });
  await expect(taken).rejects.toMatchObject({ code: 'STATUS_LISTEN_FAILED' });
  await expect(serveStatus({ sources })).rejects.toMatchObject({ code: 'OPTION_INVALID' });
  await expect(serveStatus({ port: 0, file: 'x', sources })).rejects.toMatchObject({
    code: 'OPTION_INVALID',
  });
  await expect(serveStatus({ file: '/nowhere/x', sources })).rejects.toMatchObject({
    code: 'STATUS_WRITE_FAILED',
  });
});

describe('A path that is in the way of the socket', () => {
  const refused = async (path: string): Promise<string> => {
    const { sources } = await world();
    const failure = await serveStatus({ socket: path, sources, signal: scope.signal }).catch(
      (error: unknown) => error,
    );
    return failure instanceof HandoverError ? `${failure.code}: ${failure.message}` : 'it is served';
  };

  test('a file in the way of the status socket stays, byte for byte, and is named', async () => {
    const path = scope.volume({ file: 'precious' }).path('..data/file');
    expect(await refused(path)).toBe(
      `STATUS_LISTEN_FAILED: the status document cannot be served on ${path}: the file there is not a socket; move it away, or choose another path`,
    );
    expect(readFileSync(path, 'utf8')).toBe('precious');
  });

  test('a link in the way of the status socket stays, even one to a socket that has been left behind', async () => {
    const volume = scope.volume({ file: 'precious' });
    const left = volume.path('left.sock');
    await leaveSocket(left);
    symlinkSync(left, volume.path('link'));
    expect(await refused(volume.path('link'))).toContain('is not a socket');
    expect(lstatSync(volume.path('link')).isSymbolicLink()).toBe(true);
  });

  test('a socket without a listener in the way of the status socket is replaced', async () => {
    const path = scope.volume({ file: '' }).path('left.sock');
    await leaveSocket(path);
    expect(await refused(path)).toBe('it is served');
    expect((await ask({ socketPath: path })).status).toBe(200);
  });

  test('a socket of another process in the way of the status socket stays', async () => {
    const path = scope.volume({ file: '' }).path('busy.sock');
    const server = createServer().listen(path);
    await once(server, 'listening');
    expect(await refused(path)).toMatch(/^STATUS_LISTEN_FAILED: .*; is it free\?$/);
    expect(lstatSync(path).isSocket()).toBe(true);
    server.close();
  });
});

/** A socket whose process was killed. */
const leaveSocket = async (path: string): Promise<void> => {
  const code = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await once(spawn(process.execPath, ['-e', code]), 'close');
};
