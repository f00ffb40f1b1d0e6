// What works on a JavaScript runtime that is not Node, through a swap of the files. Argument: a folder.
import { X509Certificate } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import tls from 'node:tls';
import { openIdentity, openTrust } from '@handover/runtime';
import { fetch as fetchOfUndici } from 'undici';

const [folder] = process.argv.slice(2);
const { cas, leaves } = JSON.parse(process.env.WORLD);
const put = (ca, { cert, key }) => {
  for (const [name, text] of Object.entries({ 'ca.crt': ca, 'tls.key': key, 'tls.crt': cert })) {
    writeFileSync(`${folder}/${name}.tmp`, text);
    renameSync(`${folder}/${name}.tmp`, `${folder}/${name}`);
  }
};
put(cas[0], leaves[0]);
const trust = await openTrust(`${folder}/ca.crt`);
const identity = await openIdentity({ cert: `${folder}/tls.crt`, key: `${folder}/tls.key` });
const listening = async (leaf) => {
  const server = https.createServer(leaf, (_, response) => response.end('ok'));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
};
const servers = [await listening(leaves[0]), await listening(leaves[1])];
const agent = trust.httpsAgent();
const options = { ...trust.tlsOptions() };
const get = (url) =>
  new Promise((resolve, reject) => {
    https
      .get(url, { agent }, (response) => {
        response.resume();
        response.on('end', () => resolve('taken'));
      })
      .on('error', reject);
  });
const dial = (port, more) =>
  new Promise((resolve, reject) => {
    const socket = tls.connect({ port, host: 'localhost', ...more }, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.on('error', reject);
  });
const outcomeOf = (promise) =>
  promise.then(
    () => 'taken',
    ({ code, cause }) => (code === 'RUNTIME_UNSUPPORTED' ? code : `refused ${cause?.code ?? code}`),
  );
const each = async () => {
  const outcome = {};
  for (const [index, server] of servers.entries()) {
    const { port } = server.address();
    const url = `https://localhost:${port}/`;
    outcome[index] = {
      httpsAgent: await outcomeOf(get(url)),
      tlsOptions: await outcomeOf(dial(port, options)),
      secureContext: await outcomeOf(dial(port, { secureContext: trust.secureContext() })),
      fetch: await outcomeOf(trust.fetch(url)),
      dispatcher: await outcomeOf(
        (async () => (await fetchOfUndici(url, { dispatcher: trust.dispatcher() })).text())(),
      ),
    };
  }
  return outcome;
};
const before = await each();
const own = await listening(leaves[0]);
const shown = async () => {
  const { fingerprint256 } = await dial(own.address().port, { ca: cas.join('') });
  return leaves.findIndex(({ cert }) => new X509Certificate(cert).fingerprint256 === fingerprint256);
};
let serve = '';
try {
  identity.serve(own);
  serve = `shows ${await shown()}`;
} catch ({ code }) {
  serve = code;
}
const reloads = [trust, identity].map((source) => new Promise((resolve) => source.on('reloaded', resolve)));
put(cas[1], leaves[1]);
await Promise.all(reloads);
if (serve.startsWith('shows')) serve += `, then ${await shown()}`;
process.stdout.write(JSON.stringify({ before, after: await each(), serve }), () => process.exit(0));
