import { join } from 'node:path';
import { Redis as AnyRedis } from 'ioredis';
import { createClient as createAny } from 'redis';
import { eventually, freePort, mustBe, program, startProgram } from './world.mjs';

export const title = 'Redis';

export const start = async (files, { folder }) => {
  const [port, path] = [await freePort(), join(folder, 'redis.sock')];
  const tls = {
    'tls-cert-file': join(files, 'tls.crt'),
    'tls-key-file': join(files, 'tls.key'),
    'tls-ca-cert-file': join(files, 'ca.crt'),
  };
  const settings = {
    port: 0,
    'tls-port': port,
    bind: '127.0.0.1',
    unixsocket: path,
    save: '',
    dir: folder,
    ...tls,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const server = startProgram(program('redis-server'), args);
  const admin = await eventually(() => createClient({ socket: { path } }).connect());
  const end = async () => {
    admin.destroy();
    await server.end();
  };
  return { port, reload: () => admin.configSet(tls), end };
};

const pong = mustBe('PONG');
// Connecting again by itself would hide failures.
const createClient = ({ socket }) =>
  createAny({ socket: { ...socket, reconnectStrategy: false } }).on('error', () => undefined);
class Redis extends AnyRedis {
  constructor(options) {
    super({ ...options, lazyConnect: true, retryStrategy: () => null });
  }
}

export const drivers = [
  {
    package: 'redis',
    make: ({ identity, host, port }) =>
      createClient({ socket: { tls: true, host, port, ...identity.tlsOptions() } }),
    ask: async (client) => {
      await client.connect();
      try {
        pong(await client.ping());
      } finally {
        client.destroy(); // each request is a new connection
      }
    },
  },
  {
    package: 'ioredis',
    make: ({ identity, host, port }) => new Redis({ host, port, tls: identity.tlsOptions() }),
    ask: async (redis) => {
      let reason;
      redis.removeAllListeners('error').on('error', (error) => {
        reason = error;
      });
      try {
        await redis.connect();
        pong(await redis.ping());
      } catch (error) {
        throw reason ?? error;
      } finally {
        const ended = new Promise((end) => redis.once('end', end));
        redis.disconnect();
        if (redis.status !== 'end') await ended;
      }
    },
  },
];
