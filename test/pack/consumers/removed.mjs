// A removed client CA, a copy of TLS options, wrong arguments: from the packed file.
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, createServer, get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIdentity, openTrust } from '@handover/runtime';

const [, , certificates, otherCa] = process.argv;
const dir = mkdtempSync(join(tmpdir(), 'handover-removed-'));
cpSync(certificates, dir, { recursive: true, dereference: true });
const file = (name) => join(dir, name);
const own = { cert: file('tls.crt'), key: file('tls.key'), ca: file('ca.crt') };
const identity = await openIdentity(own);
const server = createServer({ requestCert: true, keepAliveTimeout: 60_000 }, (_, response) =>
  response.end('ok'),
);
identity.serve(server);
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const { secureContext: _, ...copy } = { ...identity.tlsOptions() };
const agent = new Agent({ keepAlive: true, maxSockets: 1, ...copy });
const ask = () =>
  new Promise((resolve, reject) => {
    get({ host: 'localhost', port: server.address().port, agent }, (response) => {
      response.resume().on('end', () => resolve(response.headers.connection));
    }).on('error', reject);
  });
const before = await ask();
const reloaded = new Promise((resolve) => identity.once('reloaded', resolve));
writeFileSync(own.ca, readFileSync(otherCa));
await reloaded;
const after = await ask();
const codeOf = (act) =>
  Promise.resolve()
    .then(act)
    .then(
      () => 'accepted',
      ({ code }) => code,
    );
console.log(
  JSON.stringify({
    before,
    after,
    refused: await ask().then(
      () => 'served',
      () => 'refused',
    ),
    misspelt: await codeOf(() => openTrust(own.ca, { pollms: 5 })),
    event: await codeOf(() => identity.on('reload', () => undefined)),
    unverified: await codeOf(() => identity.httpsAgent({ rejectUnauthorized: false })),
  }),
);
process.exit();
