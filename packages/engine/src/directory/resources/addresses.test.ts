import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { MESH_ID, MeshHomes, meshYaml, pairOf, pass } from '../../../test/mesh-home.ts';
import { everyAddress } from './addresses.ts';

const homes = new MeshHomes();
const TWO = ['127.0.0.1', '127.0.0.2'];

const listening = async (server: Server, host: string, port: number): Promise<number> => {
  onTestFinished(() => void server.close());
  await new Promise<void>((done) => server.listen(port, host, done));
  return (server.address() as AddressInfo).port;
};

test('A name with two addresses is two servers: the rotation waits for the one that has not loaded its leaf, and names it', async () => {
  const [first, second] = [createServer(), createServer()];
  const port = await listening(first, '127.0.0.1', 0);
  await listening(second, '127.0.0.2', port);
  const path = homes.make(
    meshYaml(`{name: web, presents: true, leaf: a, probe: {address: "web.test:${port}"}}`),
  );
  const home = homes.home(path, undefined, { resolveName: async () => TWO });
  await pass(home);
  for (const server of [first, second]) server.setSecureContext(pairOf(home, 'a'));
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  await pass(home);
  homes.later(30_000);
  await pass(home);
  homes.later(30_000);
  first.setSecureContext(pairOf(home, 'a'));
  const { plan } = await pass(home);
  expect(plan.phase).toBe('Activating');
  expect(plan.blockedBy[0]?.waitsFor).toContain('web at 127.0.0.2');
  second.setSecureContext(pairOf(home, 'a'));
  expect((await pass(home)).plan.phase).toBe('Stable');
});

test('A consumer is asked at every address of its names, and not at more than 16', async () => {
  const address = 'web.test:8443';
  const probe = { address, mtls: false } as never;
  const asked = async (consumer: object, addresses: readonly string[]) =>
    everyAddress({ name: 'web', ...consumer } as never, async () => addresses);
  const [a, b] = TWO;
  const url = 'http://web.test/';
  expect(await asked({ probe, status: { url } }, [b ?? '', a ?? '', b ?? ''])).toEqual({
    endpoints: TWO.map((ip) => ({
      uid: `web at ${ip}`,
      status: { url, at: { ip, port: 80 } },
      probe: { address, mtls: false, at: { ip, port: 8443 } },
    })),
  });
  // The document of one process beside a name with two addresses
  expect(await asked({ probe, status: { url: 'http://127.0.0.1:81/' } }, TWO)).toMatchObject({
    endpoints: TWO.map((ip) => ({ status: { url: 'http://127.0.0.1:81/' }, probe: { at: { ip } } })),
  });
  for (const alone of [['10.0.0.1'], []])
    expect(await asked({ probe }, alone)).toEqual({ endpoints: [{ status: undefined, probe }] });
  const local = { probe: { address: 'localhost:8443', mtls: false } };
  expect(await asked(local, TWO)).toEqual({ endpoints: [{ status: undefined, ...local }] });
  const many = Array.from({ length: 17 }, (_, at) => `10.0.0.${at}`);
  expect(await asked({ probe }, many)).toMatchObject({ refused: expect.stringContaining('17 addresses') });
});

test('A server with several names is probed by the name that is declared, and that name alone counts', async () => {
  const server = createServer();
  const port = await listening(server, '127.0.0.1', 0);
  const probe = `{address: "127.0.0.1:${port}", serverName: www.example.org}`;
  const home = homes.mesh(`{name: web, presents: true, leaf: a, probe: ${probe}}`);
  await pass(home);
  // Without a server name it shows what it had at the beginning.
  server.setSecureContext(pairOf(home, 'a'));
  await home.requests.ask({ authority: MESH_ID, rotate: 'r' });
  await pass(home);
  homes.later(30_000);
  await pass(home);
  homes.later(30_000);
  expect((await pass(home)).plan.phase).toBe('Activating');
  server.addContext('www.example.org', pairOf(home, 'a'));
  expect((await pass(home)).plan.phase).toBe('Stable');
});
