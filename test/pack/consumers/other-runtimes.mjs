// What works on a JavaScript runtime that is not Node, through a swap of the files. Argument: a folder.
import { X509Certificate } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import tls from 'node:tls';
import { openIdentity, openTlsProfile, openToken, openTrust, serveStatus } from '@handover/runtime';
import { fetch as fetchOfUndici } from 'undici';

const [folder] = process.argv.slice(2);
const { cas, leaves } = JSON.parse(process.env.WORLD);
const put = (ca, { cert, key }, token, minTLSVersion) => {
  const ciphers = ['TLS_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'];
  const profile = JSON.stringify({ minTLSVersion, ciphers });
  const files = { 'ca.crt': ca, 'tls.key': key, 'tls.crt': cert, token, 'profile.json': profile };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(`${folder}/${name}.tmp`, text);
    renameSync(`${folder}/${name}.tmp`, `${folder}/${name}`);
  }
};
put(cas[0], leaves[0], 'first', 'VersionTLS12');
const trust = await openTrust(`${folder}/ca.crt`);
const identity = await openIdentity({ cert: `${folder}/tls.crt`, key: `${folder}/tls.key` });
const token = await openToken(`${folder}/token`);
const profile = await openTlsProfile(`${folder}/profile.json`);
const sources = [trust, identity, token, profile];
const { port: statusPort } = await serveStatus({ port: 0, host: '127.0.0.1', sources });
const [socketPath, file] = [`${folder}/status.sock`, `${folder}/status.json`];
await serveStatus({ socket: socketPath, sources });
await serveStatus({ file, sources });
const asked = (place) =>
  new Promise((resolve, reject) => {
    const answered = async (response) => resolve((await response.setEncoding('utf8').toArray()).join(''));
    http.get({ ...place, path: '/handover/status' }, answered).on('error', reject);
  });
const loadsIn = (text) => JSON.parse(text).sources.map(({ kind, loads }) => `${kind} ${loads}`);
/** A file is written a moment after the change. */
const inFile = async (wanted) => {
  for (const late = Date.now() + 20_000; ; ) {
    const found = loadsIn(readFileSync(file, 'utf8'));
    if (String(found) === String(wanted) || Date.now() > late) return found;
    await new Promise((tick) => setTimeout(tick, 20));
  }
};
const held = async () => {
  const port = loadsIn(await asked({ host: '127.0.0.1', port: statusPort }));
  return {
    token: token.value(),
    profile: profile.tlsOptions().minVersion,
    port,
    socket: loadsIn(await asked({ socketPath })),
    file: await inFile(port),
  };
};
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
const heldBefore = await held();
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
const reloads = sources.map((source) => new Promise((resolve) => source.on('reloaded', resolve)));
put(cas[1], leaves[1], 'second', 'VersionTLS13');
await Promise.all(reloads);
if (serve.startsWith('shows')) serve += `, then ${await shown()}`;
const answer = { before, after: await each(), serve, held: [heldBefore, await held()] };
process.stdout.write(JSON.stringify(answer), () => process.exit(0));
