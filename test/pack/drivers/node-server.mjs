import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a server of Node is made with: it asks clients for a certificate of its CA. */
export const optionsFrom = (folder) => ({
  cert: readFileSync(join(folder, 'tls.crt')),
  key: readFileSync(join(folder, 'tls.key')),
  ca: readFileSync(join(folder, 'ca.crt')),
  requestCert: true,
  rejectUnauthorized: true,
});

/** A server of Node that is told its new files, the server side of tests of clients. */
export const nodeServer = async (folder, server, context = {}) => {
  const open = new Set();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const drop = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: server.address().port,
    context,
    reload: async () => server.setSecureContext(optionsFrom(folder)),
    drop,
    end: async () => {
      drop();
      server.close();
    },
  };
};
