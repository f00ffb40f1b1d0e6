import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'mqtt';
import { freePort, program, startProgram } from './world.mjs';

export const title = 'Mosquitto';

export const start = async (files, { cas, folder }) => {
  const port = await freePort();
  // Mosquitto 2.0 reads its certificate and key again, and the CAs of its clients only at its start.
  writeFileSync(join(folder, 'both.crt'), cas[0] + cas[1]);
  const lines = [
    'user root',
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    `certfile ${join(files, 'tls.crt')}`,
    `keyfile ${join(files, 'tls.key')}`,
    `cafile ${join(folder, 'both.crt')}`,
    'require_certificate true',
  ];
  writeFileSync(join(folder, 'mosquitto.conf'), `${lines.join('\n')}\n`);
  const server = startProgram(program('mosquitto'), ['-v', '-c', join(folder, 'mosquitto.conf')]);
  await server.said('running');
  const reload = async () => {
    const before = server.count('Reloading config');
    server.child.kill('SIGHUP');
    await server.said('Reloading config', before + 1);
  };
  return { port, context: { url: `mqtts://localhost:${port}` }, reload, end: () => server.end() };
};

// Connects again at once, so that each request can be a new connection of one client.
const mqtt = {
  connect: (url, options) => connect(url, { ...options, reconnectPeriod: 1 }).on('error', () => undefined),
};

export const drivers = [
  {
    package: 'mqtt',
    make: ({ identity, url }) => mqtt.connect(url, identity.tlsOptions()),
    ask: async (client) => {
      const connected = once(client, 'connect');
      client.stream.destroy();
      await connected;
      await client.publishAsync('topic', 'ok', { qos: 1 });
    },
    end: (client) => client.endAsync(true),
  },
];
