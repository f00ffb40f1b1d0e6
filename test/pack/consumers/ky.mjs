// ky over trust.fetch. Argument: a folder with tls.crt, tls.key and ca.crt.
import { createServer } from 'node:https';
import { openIdentity, openTrust } from '@handover/runtime';
import ky from 'ky';

const [folder] = process.argv.slice(2);
const ending = new AbortController();
const { signal } = ending;
const identity = await openIdentity({ cert: `${folder}/tls.crt`, key: `${folder}/tls.key` }, { signal });
const trust = await openTrust(`${folder}/ca.crt`, { signal });
const server = createServer((request, response) => request.pipe(response));
identity.serve(server);
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const api = ky.create({ fetch: trust.fetch, retry: 0 });
const url = `https://localhost:${server.address().port}/`;
let answered = 0;
let failed = 0;
for (let request = 0; request < 200; request++)
  await api
    .post(url, { json: { request } })
    .json()
    .then(
      (body) => (body.request === request ? answered++ : failed++),
      () => failed++,
    );
ending.abort();
server.closeAllConnections();
server.close();
process.stdout.write(JSON.stringify({ failed, answered }));
