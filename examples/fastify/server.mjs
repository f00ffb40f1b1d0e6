// Fastify over mTLS whose certificate, key and client CA follow their files.
//   TLS_DIR=/etc/tls PORT=8443 STATUS_PORT=8081 node examples/fastify/server.mjs
import { createServer } from 'node:https';
import { openIdentity, serveStatus } from '@handover/runtime';
import { fastify } from 'fastify';

const { TLS_DIR = '/etc/tls', PORT = '8443', STATUS_PORT = '8081' } = process.env;

const identity = await openIdentity({
  cert: `${TLS_DIR}/tls.crt`,
  key: `${TLS_DIR}/tls.key`,
  ca: `${TLS_DIR}/ca.crt`,
});

// A factory instead of `https: {…}`: for the host `localhost` Fastify makes a second server, and the factory makes both.
const app = fastify({
  serverFactory: (handler) => identity.serve(createServer({ requestCert: true }, handler)),
});
app.get('/', async (request) => ({ hello: request.socket.getPeerCertificate().subject.CN }));

await app.listen({ port: Number(PORT), host: '0.0.0.0' });
const status = await serveStatus({ port: Number(STATUS_PORT), sources: [identity] });
console.log(`listening on ${app.server.address().port}, status on ${status.port}`);
