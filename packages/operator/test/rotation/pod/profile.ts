import { appendFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import { openIdentity, openTlsProfile } from '@handover/runtime';
import { isOpenShift } from '@handover/runtime/openshift';

// A server with a TLS profile. It uses only its files, and makes no requests. `hot` follows them, `once` reads them once.
const FILES = { cert: '/tls/tls.crt', key: '/tls/tls.key' };
const STARTS = '/state/starts';
const profile = await openTlsProfile(process.env.PROFILE ?? '/profile/profile.json');
const hot = process.env.MANNER === 'hot';
const server = createTlsServer(
  hot ? {} : { cert: readFileSync(FILES.cert), key: readFileSync(FILES.key), ...profile.tlsOptions() },
  (socket) => {
    socket.on('error', () => {});
    socket.once('data', (data) => socket.end(data));
  },
);
server.on('tlsClientError', () => {}); // the caller counts it
if (hot) (await openIdentity(FILES)).serve(server, { profile });
await new Promise<void>((resolve) => server.listen(8443, resolve));
// Since the process began; kept in a volume that outlives the container.
appendFileSync(STARTS, `${Math.round(performance.now())} ${isOpenShift()}\n`);
createServer((request, response) => {
  if (request.url === '/starts') response.end(readFileSync(STARTS));
  else if (request.url === '/exit') response.end('gone', () => process.exit(1));
  else response.end(profile.hash);
}).listen(8080);
process.once('SIGTERM', () => process.exit(0));
