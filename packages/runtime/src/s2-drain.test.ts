// Against: node:https, undici, fetch, gRPC and @kubernetes/client-node.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ADAPTERS, type Client } from '../test/adapters.ts';
import { MockCa } from '../test/mock-ca.ts';
import { Volume } from '../test/volume.ts';
import { eventually, httpsServer, ok, type Target } from '../test/world.ts';
import { openTrust } from './index.ts';

/** Stands for the ten minutes that a caller gets who gives no `drainMs`. */
const DRAIN_MS = 300;
vi.mock('./options.ts', async (original) => {
  const real = await original<typeof import('./options.ts')>();
  return {
    ...real,
    resolveFollowOptions: (...args: Parameters<typeof real.resolveFollowOptions>) => ({
      ...real.resolveFollowOptions(...args),
      drainMs: args[0]?.drainMs ?? 300,
    }),
  };
});

const one = new MockCa('one');
const two = new MockCa('two');

describe.each(ADAPTERS)('S2.7: a stream under way over $name', (adapter) => {
  let volume: Volume;
  let stop: AbortController;
  let target: Target;
  const warnings: string[] = [];
  const heard = (warning: Error & { code?: string }) => warnings.push(`${warning.code}: ${warning.message}`);

  beforeEach(async () => {
    volume = new Volume({ 'ca.crt': one.pem });
    stop = new AbortController();
    target = await adapter.serve(one);
    process.on('warning', heard);
  });
  afterEach(async () => {
    process.off('warning', heard);
    warnings.length = 0;
    stop.abort();
    await target.close();
    volume.remove();
  });

  const streaming = async (options = {}) => {
    const client: Client = await adapter.open(volume.path('ca.crt'), { signal: stop.signal, ...options });
    const stream = await client.stream(target);
    let cut = false;
    stream.ended.catch(() => {
      cut = true;
    });
    await eventually(() => stream.count() > 3);
    return { client, stream, isCut: () => cut };
  };

  /** Until the client uses the new file: with it a server of CA two is accepted. */
  const usesNewFile = async (client: Client) => {
    const second = await adapter.serve(two);
    await eventually(() => ok(client.get(second)));
    await second.close();
  };

  test('goes on past the deadline when the new bundle still trusts its server', async () => {
    const { client, stream, isCut } = await streaming();
    volume.write({ 'ca.crt': two.pem + one.pem });
    await usesNewFile(client);
    const until = Date.now() + 4 * DRAIN_MS;
    await eventually(() => isCut() || Date.now() > until);
    const before = stream.count();
    await eventually(() => isCut() || stream.count() > before + 3);
    expect(isCut()).toBe(false);
    target.endStreams();
    await stream.ended;
    expect(warnings).toEqual([]);
  });

  test('ends at the deadline when the CA of its server was removed, and that is said', async () => {
    const { isCut } = await streaming();
    volume.write({ 'ca.crt': two.pem });
    await eventually(isCut);
    await eventually(() => warnings.length > 0);
    expect(warnings).toEqual([
      expect.stringMatching(/^CONNECTIONS_CUT: 1 connection .* CA .* removed from .*ca\.crt/),
    ]);
  });

  test('ends at an explicit deadline after any change, and that is said', async () => {
    const { isCut } = await streaming({ drainMs: 200 });
    volume.write({ 'ca.crt': two.pem + one.pem });
    await eventually(isCut);
    await eventually(() => warnings.length > 0);
    expect(warnings).toEqual([expect.stringMatching(/^CONNECTIONS_CUT: 1 connection .*drainMs/)]);
  });
});

test.each([
  ['the new bundle still trusts its server', two.pem + one.pem],
  ['the CA of its server was removed', two.pem],
])(
  'S2.7: an upgraded connection (exec, WebSocket) goes on past an explicit deadline when %s',
  async (_, bundle) => {
    const volume = new Volume({ 'ca.crt': one.pem });
    const stop = new AbortController();
    const target = await httpsServer(one);
    target.server.on('upgrade', (_request, socket: Duplex) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
      socket.pipe(socket);
    });
    const options = { signal: stop.signal, drainMs: 200 };
    const agent = (await openTrust(volume.path('ca.crt'), options)).httpsAgent();
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
    volume.write({ 'ca.crt': bundle });
    // The deadline has passed: the same agent's stream, which began after it, is cut.
    await streamCut;
    socket.write(', after');
    await eventually(() => isCut || heard === 'before, after');
    expect(isCut).toBe(false);
    socket.destroy();
    stop.abort();
    await target.close();
    volume.remove();
  },
);
