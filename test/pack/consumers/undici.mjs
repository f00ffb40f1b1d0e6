// undici's request over both dispatchers, through a swap of the CA. Arguments: a folder that a server's files may be written to, and
// `static` for the statically imported one alone.
import { renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { openTrust } from '@handover/runtime';
import { dispatcher } from '@handover/runtime/undici';
import { request } from 'undici';

const [folder, only] = process.argv.slice(2);
const { cas, leaves } = JSON.parse(process.env.WORLD);
const put = (text) => {
  writeFileSync(`${folder}/ca.tmp`, text);
  renameSync(`${folder}/ca.tmp`, `${folder}/ca.crt`);
};
put(cas[0]);
const ending = new AbortController();
const trust = await openTrust(`${folder}/ca.crt`, { signal: ending.signal });
const server = createServer(leaves[0], (asked, response) => asked.pipe(response));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `https://localhost:${server.address().port}/`;

const kinds = { static: dispatcher(trust, { connections: 2 }) };
let inBundle = 'none';
try {
  kinds.method = trust.dispatcher({ connections: 2 });
} catch ({ code, message }) {
  inBundle = `${code} ${message.includes('@handover/runtime/undici')}`;
}
const post = async (kind) => {
  const { statusCode, body } = await request(url, { method: 'POST', body: kind, dispatcher: kinds[kind] });
  return `${statusCode} ${await body.text()}`;
};
const all = async () =>
  Promise.all(Object.keys(kinds).map((kind) => post(kind).catch(({ code }) => `failed ${code}`)));
const before = await all();
const reloaded = new Promise((resolve) => trust.on('reloaded', resolve));
put(cas[1]);
server.setSecureContext(leaves[1]);
await reloaded;
const after = await all();
const fetched = await (await trust.fetch(url, { method: 'POST', body: 'fetch' })).text();
ending.abort();
server.closeAllConnections();
server.close();
process.stdout.write(JSON.stringify({ before, after, fetched, ...(only ? { inBundle } : {}) }));
