import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import amqp from 'amqplib';
import { eventually, freePort, newestClient, program, startProgram } from './world.mjs';

export const title = 'RabbitMQ';

export const start = async (files, world) => {
  const { folder } = world;
  const [port, names, distribution] = [await freePort(), await freePort(), await freePort()];
  const home = join(folder, 'home');
  mkdirSync(home);
  const tls = { cacertfile: 'ca.crt', certfile: 'tls.crt', keyfile: 'tls.key' };
  const lines = [
    'listeners.tcp = none',
    `listeners.ssl.default = 127.0.0.1:${port}`,
    ...Object.entries(tls).map(([name, file]) => `ssl_options.${name} = ${join(files, file)}`),
    'ssl_options.verify = verify_peer',
    'ssl_options.fail_if_no_peer_cert = true',
    'log.console = true',
    'log.console.level = info',
  ];
  writeFileSync(join(home, 'rabbitmq.conf'), `${lines.join('\n')}\n`);
  // Erlang keeps files for two minutes otherwise.
  writeFileSync(join(home, 'advanced.config'), '[{ssl, [{bypass_pem_cache, true}]}].\n');
  writeFileSync(join(home, 'plugins'), '[].\n');
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    LANG: 'C.UTF-8',
    ERL_EPMD_PORT: `${names}`,
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `drivers-${port}@localhost`,
    RABBITMQ_DIST_PORT: `${distribution}`,
    RABBITMQ_MNESIA_BASE: join(home, 'data'),
    RABBITMQ_LOG_BASE: join(home, 'log'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_CONFIG_FILE: join(home, 'rabbitmq.conf'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(home, 'advanced.config'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(home, 'plugins'),
  };
  const server = startProgram(program('rabbitmq-server'), [], { env, cwd: home });
  await server.said('started TLS (SSL) listener');
  await server.said('Server startup complete');
  const end = async () => {
    await server.end();
    execFileSync('epmd', ['-port', `${names}`, '-kill'], { env, stdio: 'ignore' });
  };
  const url = `amqps://localhost:${port}`;
  /** RabbitMQ does not read a new CA file at once, so this waits until it accepts a client of the newest CA. */
  const reload = () =>
    eventually(async () => {
      const connection = await amqp.connect(url, newestClient(files, world));
      await connection.close();
    });
  return { port, context: { url }, reload, end };
};

export const drivers = [
  {
    package: 'amqplib',
    call: ({ identity, url }) => amqp.connect(url, identity.tlsOptions()),
    ask: async (call, context) => {
      const connection = await call(context);
      try {
        const channel = await connection.createChannel();
        const { queue } = await channel.assertQueue('', { exclusive: true });
        channel.sendToQueue(queue, Buffer.from('ok'));
        const message = await new Promise((got) => channel.consume(queue, got, { noAck: true }));
        if (String(message.content) !== 'ok') throw new Error('another message');
      } finally {
        await connection.close();
      }
    },
  },
];
