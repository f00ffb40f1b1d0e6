import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { freePort, mustBe, program, startProgram } from './world.mjs';

export const title = 'NATS';

export const start = async (files, { folder }) => {
  const port = await freePort();
  const file = join(folder, 'nats.conf');
  writeFileSync(
    file,
    `listen: 127.0.0.1:${port}
tls { cert_file: "${join(files, 'tls.crt')}", key_file: "${join(files, 'tls.key')}", ca_file: "${join(files, 'ca.crt')}", verify: true }\n`,
  );
  const server = startProgram(program('nats-server'), ['-c', file]);
  await server.said('Server is ready');
  const reload = async () => {
    const before = server.count('Reloaded');
    server.child.kill('SIGHUP');
    await server.said('Reloaded', before + 1);
  };
  return { port, context: { servers: `localhost:${port}` }, reload, end: () => server.end() };
};

export const drivers = [
  {
    package: '@nats-io/transport-node',
    call: ({ identity, servers }) => connect({ servers, tls: identity.tlsOptions() }),
    ask: async (call, context) => {
      const connection = await call(context);
      const answers = connection.subscribe('ask', { max: 1 });
      connection.publish('ask', 'ok');
      for await (const message of answers) mustBe('ok')(message.string());
      await connection.close();
    },
  },
];
