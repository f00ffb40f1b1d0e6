// Servers that know nothing of the runtime, made with the contents of the files that HANDOVER_CERT, HANDOVER_KEY and HANDOVER_CA name,
// while the files change. Prints for each server whether it shows the new certificate, and which clients it takes.
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import https from 'node:https';
import tls from 'node:tls';
import grpc from '@grpc/grpc-js';
import express from 'express';

const { cas, leaves, clients } = JSON.parse(process.env.WORLD);
const folder = process.env.FOLDER;
const put = (files) => {
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(`${folder}/${name}.tmp`, text);
    renameSync(`${folder}/${name}.tmp`, `${folder}/${name}`);
  }
};
const read = (name) => readFileSync(`${folder}/${name}`);
const [cert, key, ca] = ['tls.crt', 'tls.key', 'ca.crt'].map(read);
const mutual = { cert, key, ca, requestCert: true };
const hello = (socket) => socket.on('error', () => undefined).write('!');
const foreign = { cert: leaves[2].cert, key: leaves[2].key };

const listening = async (server) => {
  server.on('tlsClientError', () => undefined).on('secureConnection', hello);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
};
const SERVERS = {
  'node:https': () => listening(https.createServer(mutual)),
  'node:http2': () => listening(http2.createSecureServer({ ...mutual, allowHTTP1: true })),
  'node:tls': () => listening(tls.createServer(mutual)),
  'node:tls, one file for certificate and CA as texts in lists': () =>
    listening(tls.createServer({ ...mutual, cert: [String(cert)], ca: [String(ca)] })),
  'node:tls, `ticketKeys` of its own': () =>
    listening(tls.createServer({ ...mutual, ticketKeys: Buffer.alloc(48, 7) })),
  'node:https, addContext': () => {
    const server = https.createServer({ ...foreign, requestCert: true });
    server.addContext('localhost', mutual);
    return listening(server);
  },
  'node:https, SNICallback': () =>
    listening(
      https.createServer({
        ...foreign,
        requestCert: true,
        SNICallback: (_, done) => done(null, tls.createSecureContext(mutual)),
      }),
    ),
  express: () => listening(https.createServer(mutual, express())),
  '@grpc/grpc-js': () =>
    new Promise((resolve, reject) => {
      const pairs = [{ cert_chain: cert, private_key: key }];
      new grpc.Server().bindAsync(
        '127.0.0.1:0',
        grpc.ServerCredentials.createSsl(ca, pairs, true),
        (error, port) => (error ? reject(error) : resolve(port)),
      );
    }),
};

/** The certificate that the server shows, and whether it takes ours; `session` to try to come back without showing it. */
const handshake = (port, client, session) =>
  new Promise((resolve) => {
    const socket = tls.connect({
      port,
      host: '127.0.0.1',
      servername: 'localhost',
      ca: cas.join(''),
      // A gRPC server speaks first once HTTP/2 is agreed on; the others greet with a byte.
      ...(port === ports['@grpc/grpc-js'] ? { ALPNProtocols: ['h2'] } : {}),
      ...client,
      ...(session === undefined ? {} : { session }),
    });
    const seen = { leaf: undefined, taken: false, session: undefined, resumed: false };
    socket.on('session', (fresh) => {
      seen.session = fresh;
    });
    socket.once('secureConnect', () => {
      seen.leaf = socket.getPeerX509Certificate?.()?.toString();
      seen.resumed = socket.isSessionReused();
    });
    socket.once('data', () => {
      seen.taken = true;
      setTimeout(() => socket.destroy(), 20);
    });
    socket.on('error', () => undefined).once('close', () => resolve(seen));
  });
const eventually = async (check) => {
  for (const deadline = Date.now() + 15_000; Date.now() < deadline; ) {
    if (await check()) return 'yes';
    await new Promise((tick) => setTimeout(tick, 20));
  }
  return 'no';
};

const ports = {};
for (const [name, make] of Object.entries(SERVERS)) ports[name] = await make();
const names = Object.keys(SERVERS);
const first = {};
const sessions = {};
for (const name of names) {
  const { leaf, taken, session } = await handshake(ports[name], clients[0]);
  sessions[name] = session;
  const again = await handshake(ports[name], clients[0], Buffer.from(session));
  first[name] = leaf === leaves[0].cert && taken && again.resumed && again.taken ? 'yes' : 'no';
}
put({ 'tls.crt': leaves[1].cert, 'tls.key': leaves[1].key, 'ca.crt': cas[1] });
const outcome = {};
for (const name of names) {
  const shows = await eventually(
    async () => (await handshake(ports[name], clients[1])).leaf === leaves[1].cert,
  );
  const takes = await eventually(async () => (await handshake(ports[name], clients[1])).taken);
  const refuses = await eventually(async () => !(await handshake(ports[name], clients[0])).taken);
  // A copy: this process's own connect would drop a session that it knows to be old.
  const back = await handshake(ports[name], clients[0], Buffer.from(sessions[name]));
  outcome[name] = [first[name], shows, takes, refuses, back.taken || back.resumed ? 'no' : 'yes'];
}
process.stdout.write(JSON.stringify(outcome), () => process.exit(0));
