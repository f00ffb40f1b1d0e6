import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { instant } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { Scope } from '../../test/fixture.ts';
import { eventually } from '../../test/world.ts';
import type { StatusDocument } from '../index.ts';
import { type Endpoint, type Group, membershipOn, Worker } from './cluster.ts';
import { endpointFor } from './endpoints.ts';
import { LineSocket } from './line-socket.ts';
import { Siblings } from './siblings.ts';

/** Far above what a close needs. */
const BOUND_MS = 8_000;
const SIBLING = 4_000_000;
const KIN = membershipOn(undefined, process.ppid);
let clock: TestClock;
let scope: Scope;
beforeEach(() => {
  clock = new TestClock(instant(Date.now()));
  scope = new Scope();
});

const within = <Result>(promise: Promise<Result>): Promise<Result> => clock.during(promise, BOUND_MS);

/** A group whose other processes are connections that a test makes. */
function group(birthOf: () => string | undefined = () => 'born'): Group {
  let changed: () => void = () => undefined;
  const siblings = new Siblings({
    clock,
    known: [],
    birthOf,
    expected: () => [],
    changed: () => changed(),
  });
  return {
    siblings,
    reports: async () => [{ pid: process.pid, sources: [] }, ...(await siblings.reports())],
    onChange: (listener) => {
      changed = listener;
    },
  };
}

/** Joins as a process that never answers; undefined when it is refused. */
async function joined(path: string, birth = 'born'): Promise<Socket | undefined> {
  const socket = connect(path).on('error', () => undefined);
  scope.after(() => socket.destroy());
  socket.write(
    `GET /handover/status HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: handover-siblings\r\nhandover-pid: ${SIBLING}\r\nhandover-birth: ${birth}\r\n\r\n`,
  );
  let said = '';
  socket.on('data', (bytes) => {
    said += bytes;
  });
  await eventually(() => said.includes('"members"') || socket.destroyed);
  return said.includes('"members"') ? socket : undefined;
}

const fileWorld = async (birthOf?: () => string | undefined) => {
  const path = scope.volume({}).path('status.json');
  const own = group(birthOf);
  const lead = await endpointFor({ file: path }, KIN, clock).lead(own);
  const document = () => JSON.parse(readFileSync(path, 'utf8')) as StatusDocument;
  return { path, own, lead, document, meeting: `${path}.siblings` };
};

test('a process that leaves a shared status takes no sibling back, and its close ends', async () => {
  const { own, lead, meeting } = await fileWorld();
  await joined(meeting); // the write that follows waits for its answer
  own.siblings.leave();
  const closed = within(lead.close());
  expect(await joined(meeting)).toBeUndefined();
  expect(await closed).toBeUndefined();
});

test('a sibling that comes during the first write of a shared status is in the next, at once', async () => {
  const path = scope.volume({}).path('status.json');
  const own = group();
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const slow = { ...own, reports: () => begun.then(() => [{ pid: process.pid, sources: [] }]) };
  const leading = endpointFor({ file: path }, KIN, clock).lead(slow);
  await eventually(() => existsSync(`${path}.siblings`));
  await joined(`${path}.siblings`);
  let writes = 0;
  slow.reports = async () => {
    writes++;
    return [];
  };
  begin();
  const lead = await leading;
  await clock.until(() => writes > 0, BOUND_MS);
  own.siblings.leave();
  await lead.close();
});

test('a process that leaves a shared status never says that it is the only one', async () => {
  const { own, lead, meeting, document } = await fileWorld();
  await joined(meeting);
  await clock.until(() => document().processes.length === 2, BOUND_MS);
  lead.changed();
  await new Promise((tick) => setImmediate(tick)); // the write waits for the sibling's answer
  own.siblings.leave();
  expect(await within(lead.close())).toBeUndefined();
  expect(document().processes.map(({ pid }) => pid)).toEqual([process.pid, SIBLING]);
});

test('a process that reads nothing does not hold up the end of its connection', async () => {
  const path = scope.volume({}).path('line.sock');
  const server = createServer((socket) => {
    const line = new LineSocket(
      socket,
      clock,
      () => undefined,
      () => undefined,
    );
    line.send({ text: 'x'.repeat(8_000_000) });
    line.end();
  }).listen(path);
  await once(server, 'listening');
  const socket = connect(path);
  scope.after(() => socket.destroy());
  await once(server, 'connection');
  expect(await within(new Promise<void>((closed) => server.close(() => closed())))).toBeUndefined();
});

test('a process with the id of a sibling, and another start, is not that sibling', async () => {
  let birth = 'born';
  const { own, lead, meeting } = await fileWorld(() => birth);
  const pids = async () => (await within(own.reports())).map(({ pid }) => pid);
  expect(await joined(meeting, 'in another container')).toBeUndefined();
  const socket = await joined(meeting);
  expect(await pids()).toEqual([process.pid, SIBLING]);
  socket?.destroy();
  await eventually(async () => (await within(own.reports())).some(({ sources }) => sources === undefined));
  birth = 'later';
  expect(await pids()).toEqual([process.pid]);
  own.siblings.leave();
  await lead.close();
});

test('a sibling that joins again is counted once, and its first connection ends', async () => {
  const { meeting, own, lead } = await fileWorld();
  const first = await joined(meeting);
  const ended = once(first as Socket, 'close');
  await joined(meeting);
  await within(ended);
  own.siblings.leave();
  expect(await within(lead.close())).toBeUndefined();
});

test('a worker that closes while it looks for a new place answers no more', async () => {
  let leads = 0;
  let closes = 0;
  let free: () => void = () => undefined;
  const freed = new Promise<void>((resolve) => {
    free = resolve;
  });
  let begun = false;
  const endpoint: Endpoint = {
    lead: async () => {
      begun = true;
      await freed;
      leads++;
      return {
        port: undefined,
        isHeld: () => true,
        changed: () => undefined,
        close: async () => void closes++,
      };
    },
    join: async () => undefined,
  };
  const worker = new Worker(endpoint, () => [], KIN, clock);
  const entered = worker.enter();
  await eventually(() => begun);
  const closed = worker.close();
  free();
  await entered;
  await closed;
  expect([leads, closes]).toEqual([1, 1]);
});

test('a file that the parent writes is taken over from a parent of the group, and from no other', async () => {
  const path = scope.volume({}).path('status.json');
  const document = JSON.stringify({ version: 1, pid: process.ppid, at: new Date(clock.now()).toISOString() });
  const lead = async (expected: readonly number[]) => {
    writeFileSync(path, document);
    const own = group();
    const leading = await endpointFor({ file: path }, { ...KIN, expected: () => expected }, clock).lead(own);
    own.siblings.leave();
    await leading.close();
  };
  await expect(lead([])).rejects.toMatchObject({ code: 'STATUS_WRITE_FAILED' });
  expect(readFileSync(path, 'utf8')).toBe(document);
  await lead([process.ppid]);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: process.pid });
});
