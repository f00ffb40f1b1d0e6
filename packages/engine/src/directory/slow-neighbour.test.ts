import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { Directories } from '../../test/directories.ts';
import { statusText } from '../../test/status-text.ts';
import { dealKey } from '../../test/world.ts';
import { converge, DirectoryHome, runDirectory } from '../index.ts';
import { observe } from '../observe/observe.ts';

const directories = new Directories();
afterAll(() => directories.end());
const servers: Server[] = [];
const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
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
  const home = new DirectoryHome(path, { keys: dealKey });
  const stop = new AbortController();
  const file = (name: string): string => readFileSync(join(home.out, 'default/secrets/quick', name), 'utf8');
  // A program that has loaded its files whenever it is asked.
  const program = setInterval(() => {
    try {
      writeFileSync(status, statusText(file('ca.crt'), file('tls.crt'), Date.now()), { mode: 0o644 });
    } catch {
      // its files are not written yet
    }
  }, 50);
  const lock = await home.lock();
  try {
    const running = runDirectory(home, () => {}, stop.signal);
    const stateOf = async (id: string) => (await home.authorities.load(id))?.state;
    const ids = [...home.load().authorities.keys()];
    for (const id of ids) await expect.poll(() => stateOf(id), { timeout: 20_000 }).toBeDefined();
    const begun = performance.now();
    for (const id of ids) await home.requests.ask({ authority: id, rotate: 'r' });
    const isDone = async (): Promise<boolean> => {
      const state = await stateOf('default/quick');
      return state?.generations.length === 1 && state.generations[0]?.number === 2;
    };
    await expect.poll(isDone, { timeout: 110_000, interval: 20 }).toBe(true);
    const took = performance.now() - begun;
    stop.abort();
    await running;
    return took;
  } finally {
    clearInterval(program);
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

test('sixty consumers that hang delay their own Authority, and no other one of the directory', async () => {
  const alone = await timeOfQuick([]);
  const beside = await timeOfQuick([authority('slow', await hanging(60))]);
  expect(beside).toBeLessThan(3 * alone + 3_000);
}, 150_000);

test('while all places of an Authority are taken by consumers that hang, those of another one are asked', async () => {
  const path = directories.make([authority('slow', []), authority('quick', [])].join('---'));
  const home = new DirectoryHome(path, { keys: dealKey });
  for (const id of home.load().authorities.keys()) await converge(home, id);
  const status = join(path, 'quick.json');
  writeFileSync(status, '{}', { mode: 0o644 });
  const quick = `{name: quick, presents: true, verifies: true, leaf: quick, status: {file: ${status}}}`;
  const both = [authority('slow', await hanging(60)), authority('quick', [quick])];
  writeFileSync(join(path, 'mesh.yaml'), both.join('---'), { mode: 0o644 });
  home.load();
  const order: string[] = [];
  const seen = async (id: string): Promise<void> => {
    await observe(await home.fresh(), id);
    order.push(id);
  };
  const slow = seen('default/slow');
  // Until every place of it is taken.
  await expect.poll(() => sockets.size, { interval: 5, timeout: 10_000 }).toBeGreaterThanOrEqual(32);
  const begun = performance.now();
  await seen('default/quick');
  expect(performance.now() - begun).toBeLessThan(1_500); // the first of them gives up after 2 s
  expect(order).toEqual(['default/quick']);
  await slow;
}, 60_000);
