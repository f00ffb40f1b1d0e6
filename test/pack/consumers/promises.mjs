// What README promises of a server's drain, of silence, of verification, of wrong arguments and of events: from the packed file.
// Argument: a folder. Prints what was seen.
import { once } from 'node:events';
import fs, { renameSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import tls from 'node:tls';
import { openIdentity, openToken, openTrust } from '@handover/runtime';

const [folder] = process.argv.slice(2);
const { cas, leaves, clients } = JSON.parse(process.env.WORLD);
const short = JSON.parse(process.env.SHORT);
const put = (name, text) => {
  writeFileSync(`${folder}/${name}.tmp`, text);
  renameSync(`${folder}/${name}.tmp`, `${folder}/${name}`);
  return `${folder}/${name}`;
};
const identityFiles = (name, { cert, key }) => ({
  cert: put(`${name}.crt`, cert),
  key: put(`${name}.key`, key),
});
const next = (source, name) => new Promise((resolve) => source.once(name, resolve));
const eventually = async (check) => {
  while (!check()) await new Promise((tick) => setTimeout(tick, 10));
};
const listening = async (server) => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
};
const warnings = [];
process.on('warning', ({ code }) => warnings.push(code));
const refusal = (act) =>
  Promise.resolve()
    .then(act)
    .then(
      () => 'accepted',
      ({ code, message }) => `${code}: ${message}`,
    );
const get = (port, options) =>
  new Promise((resolve, reject) => {
    https
      .get({ port, host: 'localhost', ...options }, (response) =>
        response.resume().on('end', () => resolve('taken')),
      )
      .on('error', reject);
  });
const connecting = (port, options) =>
  new Promise((resolve) => {
    const socket = tls.connect({ port, host: 'localhost', ...options }, () => {
      resolve('taken');
      socket.destroy();
    });
    socket.on('error', ({ code }) => resolve(code));
  });

/** A client whose CA is removed while a stream runs: GOAWAY, then the end at drainMs. */
async function drain() {
  const files = { ...identityFiles('drain', leaves[1]), ca: put('drain-ca.crt', cas[0] + cas[1]) };
  const identity = await openIdentity(files, { drainMs: 300 });
  const server = identity.serve(http2.createSecureServer({ requestCert: true, rejectUnauthorized: true }));
  server.on('stream', (stream) => stream.on('error', () => undefined).respond());
  const port = await listening(server);
  const session = http2.connect(`https://localhost:${port}`, { ca: cas[1], ...clients[0] });
  const seen = [];
  session.once('goaway', () => seen.push('goaway')).on('error', () => undefined);
  const closed = new Promise((resolve) => session.once('close', resolve)).then(() => seen.push('closed'));
  const stream = session.request().on('error', () => undefined);
  await once(stream, 'response');
  const cut = next(identity, 'cut');
  put('drain-ca.crt', cas[1]);
  const [{ connections, reason }] = await Promise.all([cut, closed]);
  return { seen, cut: { connections, reason } };
}

/** A leaf that expires, with listeners and without. */
async function expiry() {
  const identity = await openIdentity(identityFiles('short', short));
  const events = [];
  for (const name of ['expiring', 'expired']) identity.on(name, () => events.push(name));
  await openIdentity(identityFiles('unheard', short));
  await eventually(() => events.includes('expired') && warnings.includes('LEAF_EXPIRED'));
  return events;
}

/** A system that is out of watches. No event tells of a new file then: a handshake that fails does. */
async function withoutWatches() {
  const watching = {};
  for (const code of ['EMFILE', 'ENOSPC']) {
    fs.watch = () => {
      throw Object.assign(new Error(code), { code });
    };
    syncBuiltinESMExports();
    const trusts = [await openTrust(put(`${code}.crt`, cas[0])), await openTrust(`${folder}/${code}.crt`)];
    watching[code] = trusts.map((trust) => trust.status().watching);
  }
  const trust = await openTrust(put('retry.crt', cas[0]));
  const port = await listening(https.createServer(leaves[1], (_, response) => response.end()));
  const options = { ...trust.tlsOptions() };
  put('retry.crt', cas[1]);
  // An agent tries again with the new file; a driver with tlsOptions() does not.
  const retry = [
    await connecting(port, options),
    await get(port, { agent: trust.httpsAgent() }),
    await connecting(port, options),
  ];
  return { watching, retry };
}

async function verification() {
  const trust = await openTrust(put('verified.crt', cas[0]));
  const port = await listening(https.createServer(leaves[1], (_, response) => response.end()));
  const off = { rejectUnauthorized: false };
  return {
    httpsAgent: await refusal(() => trust.httpsAgent(off)),
    dispatcher: await refusal(() => trust.dispatcher({ connect: off })),
    request: await refusal(() => get(port, { agent: trust.httpsAgent(), ...off })),
    tlsOptions: await refusal(() => Object.assign(trust.tlsOptions(), off)),
  };
}

async function wrongArguments() {
  const trust = await openTrust(put('wrong-ca.crt', cas[0]));
  const identity = await openIdentity(identityFiles('wrong', leaves[0]));
  return {
    'openTrust()': await refusal(() => openTrust()),
    'serve(httpServer)': await refusal(() => identity.serve(http.createServer())),
    'a misspelt option': await refusal(() => openTrust('/x', { pollms: 5 })),
    "on('reload')": await refusal(() => trust.on('reload', () => undefined)),
  };
}

async function events() {
  const token = await openToken(put('token', 'one'));
  const reloaded = next(token, 'reloaded');
  put('token', 'two');
  const trust = await openTrust(put('bad.crt', cas[0]), { warnMs: 100, pollMs: 60_000 });
  const reasons = [];
  trust.on('kept', ({ reason }) => reasons.push(reason));
  put('bad.crt', '');
  await eventually(() => reasons.length >= 3);
  return { token: Object.keys(await reloaded).sort(), kept: [...new Set(reasons)] };
}

const expired = expiry(); // first: the leaf lives for seconds
const drained = await drain();
const verified = await verification();
const refused = await wrongArguments();
const told = await events();
const unwatched = await withoutWatches();
const outcome = {
  drained,
  verified,
  refused,
  told,
  unwatched,
  expired: await expired,
  warnings: warnings.sort(),
};
process.stdout.write(JSON.stringify(outcome), () => process.exit(0));
