// Against: node:https, undici, fetch, gRPC, @kubernetes/client-node and inCluster().
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Duplex } from 'node:stream';
import { instant } from '@handover/material';
import { atRest, TestClock } from '@handover/test-api-server';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Client, EVERY_CLIENT } from '../test/adapters.ts';
import { passing, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import type { Volume } from '../test/volume.ts';
import { eventually, httpsServer, ok, type Target, UNKNOWN_AUTHORITY, wordsOf } from '../test/world.ts';

const DRAIN_MS = 600_000;
const HOUR = 3_600_000;

const one = new MockCa('one');
const two = new MockCa('two');
/** As in a pod: the token is beside the bundle. */
const content = (bundle: string) => ({ 'ca.crt': bundle, token: 'token' });
let clock: TestClock;
let scope: Scope;
let volume: Volume;
beforeEach(() => {
  clock = new TestClock(instant(Date.now()));
  scope = new Scope(clock);
  volume = scope.volume(content(one.pem));
});

describe.each(EVERY_CLIENT)('S2.7: a stream under way over $name', (adapter) => {
  let target: Target;
  const warnings: string[] = [];
  const heard = (warning: Error & { code?: string }) => warnings.push(`${warning.code}: ${warning.message}`);

  beforeEach(async () => {
    target = scope.add(await adapter.serve(one));
    process.on('warning', heard);
  });
  afterEach(async () => {
    process.off('warning', heard);
    warnings.length = 0;
  });

  const streaming = async (options = {}) => {
    const client: Client = await adapter.open(volume.path('ca.crt'), { ...scope.follow, ...options });
    const stream = await client.stream(target);
    let cut = false;
    stream.ended.catch(() => {
      cut = true;
    });
    await eventually(() => stream.count() > 3);
    return { client, stream, count: stream.count, isCut: () => cut };
  };

  /** Until the client uses the new file: with it a server of CA two is accepted. */
  const usesNewFile = async (client: Client) => {
    const second = await adapter.serve(two);
    await eventually(() => ok(client.get(second)));
    await second.close();
  };

  test(`a stream over ${adapter.name} goes on for an hour after the CA of its server was removed, without a warning`, async () => {
    const streamed = await streaming();
    const { client, stream, isCut } = streamed;
    volume.write(content(two.pem));
    await usesNewFile(client);
    await passing(clock, HOUR, streamed);
    expect(isCut()).toBe(false);
    // A new request needs a server of the new bundle: the connection of the stream takes none.
    expect(await wordsOf(client.get(target))).toMatch(UNKNOWN_AUTHORITY);
    target.endStreams();
    await stream.ended;
    expect(warnings).toEqual([]);
  });

  test(`a stream over ${adapter.name} ends at drainMs after the CA of its server was removed, with a warning`, async () => {
    const streamed = await streaming({ drainMs: DRAIN_MS });
    const { isCut } = streamed;
    volume.write(content(two.pem));
    await passing(clock, DRAIN_MS - 1_000, streamed);
    expect(isCut()).toBe(false);
    await clock.advance(1_000);
    await eventually(isCut);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^CONNECTIONS_CUT: 1 connection .* drainMs after the CA .* removed from .*ca\.crt$/,
      ),
    ]);
  });

  test(`a stream over ${adapter.name} goes on past drainMs when the new bundle still trusts its server`, async () => {
    const streamed = await streaming({ drainMs: DRAIN_MS });
    const { client, stream, isCut } = streamed;
    volume.write(content(two.pem + one.pem));
    await usesNewFile(client);
    await passing(clock, 2 * DRAIN_MS, streamed);
    expect(isCut()).toBe(false);
    target.endStreams();
    await stream.ended;
    expect(warnings).toEqual([]);
  });
});

test('S2.7: an upgraded connection (exec, WebSocket) goes on past drainMs when the CA of its server was removed', async () => {
  const target = scope.add(await httpsServer(one));
  target.server.on('upgrade', (_request, socket: Duplex) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    socket.pipe(socket);
  });
  const agent = (await scope.trust(volume, { drainMs: 5_000 })).httpsAgent();
  const upgrade = { connection: 'Upgrade', upgrade: 'echo' };
  const upgrading = once(request(target.url, { agent, headers: upgrade }).end(), 'upgrade');
  const [, socket] = (await upgrading) as [IncomingMessage, Duplex];
  const [stream] = (await once(request(`${target.url}/watch`, { agent }).end(), 'response')) as [
    IncomingMessage,
  ];
  const streamCut = once(stream.resume(), 'error');
  let isCut = false;
  socket.on('close', () => {
    isCut = true;
  });
  let heard = '';
  socket.on('data', (data) => {
    heard += data;
  });
  socket.write('before');
  await eventually(() => heard === 'before');
  volume.write(content(two.pem));
  await atRest();
  await clock.advance(5_000);
  // The deadline has passed: the same agent's stream, which began after it, is cut.
  await streamCut;
  socket.write(', after');
  await eventually(() => isCut || heard === 'before, after');
  expect(isCut).toBe(false);
  socket.destroy();
});
