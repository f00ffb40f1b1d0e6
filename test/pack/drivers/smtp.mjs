import { once } from 'node:events';
import nodemailer from 'nodemailer';
import { SMTPServer } from 'smtp-server';
import { optionsFrom } from './node-server.mjs';
import { text } from './world.mjs';

export const title = 'smtp-server';

export const start = async (files) => {
  const server = new SMTPServer({
    ...optionsFrom(files),
    secure: true,
    authOptional: true,
    closeTimeout: 100,
    onData: (stream, _, done) => text(stream).then(() => done(), done),
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const end = () => new Promise((closed) => server.close(closed));
  return {
    port: server.server.address().port,
    reload: async () => server.updateSecureContext(optionsFrom(files)),
    end,
  };
};

export const drivers = [
  {
    package: 'nodemailer',
    make: ({ identity, host, port }) =>
      nodemailer.createTransport({ host, port, secure: true, tls: identity.tlsOptions() }),
    ask: async (transport) => {
      const { accepted } = await transport.sendMail({ from: 'a@localhost', to: 'b@localhost', text: 'ok' });
      if (accepted.length !== 1) throw new Error('not accepted');
    },
  },
];
