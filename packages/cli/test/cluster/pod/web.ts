import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import { openIdentity, openTlsProfile, TLS_PROFILE_PATH } from '@handover/runtime';

/** A pod that serves TLS with the profile in its file, and is ready when that is the profile of its stamp. */
const profile = await openTlsProfile(TLS_PROFILE_PATH, {
  lastKnownGood: '/tmp/profile.json',
  annotations: '/etc/podinfo/annotations',
});
const identity = await openIdentity({ cert: '/etc/web/tls.crt', key: '/etc/web/tls.key' });
const server = createTlsServer((socket) => socket.on('error', () => {}).end('!'));
server.on('tlsClientError', () => {});
identity.serve(server, { profile }).listen(8443);
createServer((_request, response) => {
  response.writeHead(profile.ready ? 200 : 503).end(JSON.stringify(profile.status()));
}).listen(8080);
