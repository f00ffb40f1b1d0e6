import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { createTransport } from 'nodemailer';
import pg from 'pg';
import { createClient } from 'redis';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Fake, fakeKafka, fakePostgres, fakeRedis, fakeSmtp } from '../../test/fake-brokers.ts';
import { next, Scope } from '../../test/fixture.ts';
import { type Leaf, MockCa } from '../../test/mock-ca.ts';
import { UNKNOWN_AUTHORITY, wordsOf } from '../../test/world.ts';
import type { LiveTlsOptions } from '../index.ts';

const one = new MockCa('one');
const two = new MockCa('two');
let scope: Scope;
beforeEach(() => {
  scope = new Scope();
});

const host = 'localhost';

interface Driver {
  readonly name: string;
  serve(leaf: Leaf): Promise<Fake>;
  /** One driver object, configured once; each call is a new connection of it. */
  make(port: number, tls: LiveTlsOptions): () => Promise<unknown>;
}

const DRIVERS: readonly Driver[] = [
  {
    name: 'pg',
    serve: fakePostgres,
    make: (port, ssl) => {
      const pool = new pg.Pool({ host, port, user: 'u', database: 'd', ssl });
      pool.on('error', () => undefined);
      scope.after(() => pool.end());
      return async () => (await pool.connect()).release(true);
    },
  },
  {
    name: 'ioredis',
    serve: fakeRedis,
    make: (port, tls) => {
      const redis = new Redis({
        host,
        port,
        tls,
        lazyConnect: true,
        enableReadyCheck: false,
        retryStrategy: () => null,
        maxRetriesPerRequest: 0,
      });
      let last: Error | undefined;
      redis.on('error', (error) => {
        last = error;
      });
      return async () => {
        try {
          await redis.connect();
          await redis.ping();
        } catch (error) {
          throw last ?? error;
        } finally {
          const ended = new Promise((end) => redis.once('end', end));
          redis.disconnect();
          if (redis.status !== 'end') await ended;
        }
      };
    },
  },
  {
    name: 'kafkajs',
    serve: fakeKafka,
    make: (port, ssl) => {
      const kafka = new Kafka({
        brokers: [`${host}:${port}`],
        ssl,
        logLevel: logLevel.NOTHING,
        retry: { retries: 0 },
      });
      return async () => {
        const admin = kafka.admin();
        await admin.connect();
        await admin.disconnect();
      };
    },
  },
  {
    name: 'node-redis',
    serve: fakeRedis,
    make: (port, tls) => {
      const client = createClient({
        socket: { ...tls, tls: true, host, port, reconnectStrategy: false },
      });
      client.on('error', () => undefined);
      return async () => {
        await client.connect();
        client.destroy();
      };
    },
  },
  {
    name: 'nodemailer',
    serve: fakeSmtp,
    make: (port, tls) => {
      const transport = createTransport({ host, port, secure: true, tls });
      return () => transport.verify();
    },
  },
];

describe.each(DRIVERS)('$name', ({ name, serve, make }) => {
  test(`${name} that is configured once with tlsOptions() connects with the newest trust each time`, async () => {
    const volume = scope.volume({ 'ca.crt': one.pem });
    const trust = await scope.trust(volume);
    const server = scope.add(await serve(one.leaf()));
    const connect = make(server.port, trust.tlsOptions());
    await connect();
    server.use(two.leaf());
    expect(await wordsOf(connect())).toMatch(UNKNOWN_AUTHORITY);
    volume.write({ 'ca.crt': two.pem });
    await next(trust, 'reloaded');
    await connect();
  });
});
