import { once } from 'node:events';
import { Agent, request as httpsRequest } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { instant } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { request } from 'undici';
import { beforeEach, describe, expect, test } from 'vitest';
import { passing, Scope } from '../../test/fixture.ts';
import { MockCa } from '../../test/mock-ca.ts';
import { eventually, get, httpsServer, ok } from '../../test/world.ts';
import type { CutEvent, Trust } from '../index.ts';

const DRAIN_MS = 600_000;

const one = new MockCa('one');
const two = new MockCa('two');
const three = new MockCa('three');
let clock: TestClock;
let scope: Scope;
beforeEach(() => {
  clock = new TestClock(instant(Date.now()));
  scope = new Scope(clock);
});

/** Asks for a path, and reads until `end`; the answer to `/watch` has no end. */
type Ask = (url: string, close: boolean) => Promise<AsyncIterable<unknown>>;

const WAYS: readonly [string, (trust: Trust) => Ask][] = [
  [
    'httpsAgent',
    (trust) => {
      const agent = trust.httpsAgent();
      return async (url, close) => {
        const asked = httpsRequest(url, { agent, headers: close ? { connection: 'close' } : {} }).end();
        const [response] = await once(asked, 'response');
        return response as AsyncIterable<unknown>;
      };
    },
  ],
  [
    'fetch',
    (trust) => async (url) => {
      const { body } = await trust.fetch(url);
      return body as unknown as AsyncIterable<unknown>;
    },
  ],
  [
    'dispatcher',
    (trust) => {
      const dispatcher = trust.dispatcher();
      return async (url, close) => (await request(url, { dispatcher, reset: close })).body;
    },
  ],
];

const world = async (...cas: MockCa[]) => {
  const volume = scope.volume({ 'ca.crt': cas.map(({ pem }) => pem).join('') });
  const trust = await scope.trust(volume, { drainMs: DRAIN_MS });
  const trustOnly = async (...kept: MockCa[]) => {
    volume.write({ 'ca.crt': kept.map(({ pem }) => pem).join('') });
    await eventually(() => trust.status().anchors?.length === kept.length);
  };
  return { trust, trustOnly };
};

describe.each(WAYS)('A resumed connection of %s', (name, open) => {
  const resumed = async (options: object = {}) => {
    const { trust, trustOnly } = await world(one, two, three);
    const cuts: CutEvent[] = [];
    trust.on('cut', (event) => cuts.push(event));
    const target = scope.add(await httpsServer(one, options));
    const reused: boolean[] = [];
    target.server.on('secureConnection', (socket: TLSSocket) => reused.push(socket.isSessionReused()));
    const ask = open(trust);
    const first = await ask(`${target.url}/`, true);
    for await (const _ of first);
    target.cut();
    const stream = await ask(`${target.url}/watch`, false);
    expect(reused).toEqual([false, true]);
    let chunks = 0;
    let isCut = false;
    const reading = async () => {
      for await (const _ of stream) chunks++;
    };
    reading().catch(() => {
      isCut = true;
    });
    return { trustOnly, cuts, isCut: () => isCut, count: () => chunks };
  };

  test(`a resumed connection of ${name} ends at drainMs after the CA of its server was removed`, async () => {
    const streamed = await resumed();
    const { trustOnly, isCut, cuts } = streamed;
    await trustOnly(two, three);
    await passing(clock, DRAIN_MS - 1_000, streamed);
    expect(isCut()).toBe(false);
    await clock.advance(1_000);
    await eventually(isCut);
    expect(cuts).toMatchObject([{ connections: 1, reason: 'ca_removed' }]);
  });

  test(`a resumed connection of ${name} goes on when another CA was removed, also with an intermediate`, async () => {
    const inter = new MockCa('inter');
    const { cert, key } = inter.leaf();
    const streamed = await resumed({ cert: cert + one.crossSign(inter), key });
    const { trustOnly, isCut, count } = streamed;
    await trustOnly(one, two);
    await passing(clock, 2 * DRAIN_MS, streamed);
    const before = count();
    await eventually(() => isCut() || count() > before);
    expect(isCut()).toBe(false);
  });
});

describe('A session of a server whose CA was removed', () => {
  const session = async () => {
    const { trust, trustOnly } = await world(one, two);
    const target = scope.add(await httpsServer(one));
    return { trust, trustOnly, target };
  };

  test('a session of a server whose CA was removed is not resumed by a request through httpsAgent that brings it along', async () => {
    const { trust, trustOnly, target } = await session();
    const agent = trust.httpsAgent({ keepAlive: false });
    let kept: Buffer | undefined;
    const asked = httpsRequest(target.url, { agent }).end();
    asked.on('socket', (socket) => socket.on('session', (fresh: Buffer) => (kept = fresh)));
    const [response] = await once(asked, 'response');
    response.resume();
    await eventually(() => kept !== undefined);
    await trustOnly(two);
    expect(await ok(get(target.url, { agent, session: kept }))).toBe(false);
  });

  test.each(['spread', 'as it is'])(
    'a session of a server whose CA was removed is not resumed by an agent of node:https with tlsOptions (%s)',
    async (how) => {
      const { trust, trustOnly, target } = await session();
      const options = trust.tlsOptions();
      const agent = new Agent({ ...(how === 'spread' ? { ...options } : options), keepAlive: false });
      await get(target.url, { agent });
      await get(target.url, { agent });
      await trustOnly(two);
      expect(await ok(get(target.url, { agent }))).toBe(false);
    },
  );
});
