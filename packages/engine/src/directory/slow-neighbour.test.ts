import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { atRest } from '@handover/test-api-server';
import { afterEach, expect, test } from 'vitest';
import { Directories } from '../../test/directories.ts';
import { statusText } from '../../test/status-text.ts';
import { converge, runDirectory } from '../index.ts';
import { observe } from '../observe/observe.ts';

const directories = new Directories();
const { clock } = directories;
const servers: Server[] = [];
const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  for (const server of servers.splice(0)) server.close();
});

/** Takes connections, and never says a word. */
const stalling = async (): Promise<number> => {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

const authority = (name: string, consumers: readonly string[]): string => `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: ${name}}
spec: {lifetime: 1y, consumers: [${consumers.join(', ')}], rotation: {reloadWithin: 1s}}
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: ${name}}
spec: {authority: ${name}, dnsNames: [${name}.local]}
`;

/** Runs the directory, rotates every authority in it, and says how long `quick` takes. */
const timeOfQuick = async (others: readonly string[]): Promise<number> => {
  const path = directories.make(undefined);
  const status = join(path, 'quick.json');
  const quick = `{name: quick, presents: true, verifies: true, leaf: quick, status: {file: ${status}}}`;
  writeFileSync(join(path, 'mesh.yaml'), [...others, authority('quick', [quick])].join('---'), {
    mode: 0o644,
  });
  const home = directories.home(path);
  const stop = new AbortController();
  const file = (name: string): string => readFileSync(join(home.out, 'default/secrets/quick', name), 'utf8');
  // A program that has loaded its files whenever it is asked.
  const program = clock.every(250, () => {
    try {
      writeFileSync(status, statusText(file('ca.crt'), file('tls.crt'), clock.now()), { mode: 0o644 });
    } catch {
      // its files are not written yet
    }
  });
  const lock = await home.lock();
  try {
    const running = runDirectory(home, () => {}, stop.signal);
    const stateOf = async (id: string) => (await home.authorities.load(id))?.state;
    const ids = [...home.load().authorities.keys()];
    for (const id of ids) await clock.until(() => stateOf(id), 20_000);
    const begun = clock.monotonic();
    for (const id of ids) await home.requests.ask({ authority: id, rotate: 'r' });
    const isDone = async (): Promise<boolean> => {
      const state = await stateOf('default/quick');
      return state?.generations.length === 1 && state.generations[0]?.number === 2;
    };
    await clock.until(isDone, 110_000);
    const took = clock.monotonic() - begun;
    stop.abort();
    await clock.during(running);
    return took;
  } finally {
    program.cancel();
    stop.abort();
    await lock.release();
  }
};

/** Consumers of the Authority `slow` that hang, each in both ways of asking. */
const hanging = async (count: number): Promise<readonly string[]> => {
  const ports = await Promise.all(Array.from({ length: count }, stalling));
  return ports.map(
    (port, index) =>
      `{name: s${index}, presents: true, verifies: true, leaf: slow, status: {url: "http://127.0.0.1:${port}/"}, probe: {address: "127.0.0.1:${port}"}}`,
  );
};

test('forty consumers that hang delay their own Authority, and no other one of the directory', async () => {
  const alone = await timeOfQuick([]);
  const beside = await timeOfQuick([authority('slow', await hanging(40))]);
  expect(beside).toBeLessThan(3 * alone + 3_000);
});

test('while all places of an Authority are taken by consumers that hang, those of another one are asked', async () => {
  const path = directories.make([authority('slow', []), authority('quick', [])].join('---'));
  const home = directories.home(path);
  for (const id of home.load().authorities.keys()) await converge(home, id);
  const status = join(path, 'quick.json');
  writeFileSync(status, '{}', { mode: 0o644 });
  const quick = `{name: quick, presents: true, verifies: true, leaf: quick, status: {file: ${status}}}`;
  const both = [authority('slow', await hanging(40)), authority('quick', [quick])];
  writeFileSync(join(path, 'mesh.yaml'), both.join('---'), { mode: 0o644 });
  home.load();
  const order: string[] = [];
  const seen = async (id: string): Promise<void> => {
    await observe(await home.fresh(), id);
    order.push(id);
  };
  const slow = seen('default/slow');
  // Until every place of it is taken.
  await atRest();
  expect(sockets.size).toBe(32);
  // No time passes: none of them has given up yet.
  await seen('default/quick');
  expect(order).toEqual(['default/quick']);
  await clock.during(slow);
});
