// Clients that know nothing of the runtime, each with its own server, while the file that HANDOVER_CA names goes from one CA to both
// to the other. Prints for each client whether it answered at each step, and whether it refused the CA that was removed. Then all clients ask
// all the time while everything goes back to the first CA, each change after HANDOVER_STATUS, a file, says that the one before is loaded.
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import grpc from '@grpc/grpc-js';
import axios from 'axios';
import got from 'got';
import fetchOfNodeFetch from 'node-fetch';
import pg from 'pg';
import superagent from 'superagent';
import { request as undici } from 'undici';
import WebSocket, { WebSocketServer } from 'ws';

const { cas, leaves } = JSON.parse(process.env.WORLD);
const file = process.env.CA_FILE;
const put = (text) => {
  writeFileSync(`${file}.tmp`, text);
  renameSync(`${file}.tmp`, file);
};
const fromFile = readFileSync(file);

const target = async (server) => {
  const open = new Set();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const show = (leaf) => {
    server.setSecureContext?.(leaf);
    server.leaf = leaf;
  };
  return {
    port: server.address().port,
    show,
    use: (leaf) => {
      show(leaf);
      for (const socket of open) socket.destroy();
    },
  };
};
const overHttps = () => https.createServer(leaves[0], (_, response) => response.end('ok'));
const overWs = () => {
  const server = overHttps();
  new WebSocketServer({ server }).on('connection', (socket) => socket.send('ok'));
  return server;
};
const overHttp2 = () =>
  http2.createSecureServer(leaves[0]).on('stream', (stream) => {
    stream.respond();
    stream.end('ok');
  });
const overTls = () =>
  tls.createServer(leaves[0], (socket) => socket.on('error', () => undefined).write('ok'));
/** PostgreSQL's start: plain, then TLS, then ready. A stand-in: real servers are in the tier of examples. */
const overPostgres = () => {
  const server = net.createServer((socket) => {
    socket.once('data', () => {
      socket.write('S');
      const secure = new tls.TLSSocket(socket, { isServer: true, ...server.leaf });
      secure.on('error', () => undefined);
      secure.once('data', () => secure.write(Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1')));
    });
  });
  server.leaf = leaves[0];
  return server;
};

const text = async (readable) => {
  let all = '';
  for await (const chunk of readable) all += chunk;
  return all;
};
const get = (url, options) =>
  new Promise((resolve, reject) => {
    https.get(url, options, (response) => resolve(text(response))).on('error', reject);
  });
const own = new https.Agent({ keepAlive: true, maxCachedSessions: 10 });
const reading = (options) =>
  new Promise((resolve, reject) => {
    const socket = tls.connect(options);
    socket.once('error', reject).once('data', (data) => {
      socket.destroy();
      resolve(String(data));
    });
    socket.once('close', () => reject(new Error('closed')));
  });
const kept = tls.createSecureContext({ ca: fromFile });
const keptWithoutCa = tls.createSecureContext();
const keptWithOwn = tls.createSecureContext({ ca: cas[2] });
keptWithOwn.context.addCACert(fromFile);
const sslWithoutRoots = grpc.credentials.createSsl();
let readyMs = 2_000;
const connecting = async (port, credentials) => {
  const client = new grpc.Client(`localhost:${port}`, credentials);
  try {
    await new Promise((resolve, reject) => {
      client.waitForReady(Date.now() + readyMs, (error) => (error ? reject(error) : resolve()));
    });
    return 'ok';
  } finally {
    client.close();
  }
};

const CLIENTS = {
  fetch: [overHttps, (url) => fetch(url).then((response) => response.text())],
  'node:https': [overHttps, (url) => get(url, {})],
  'node:https, own keep-alive agent': [overHttps, (url) => get(url, { agent: own })],
  'node:https, `ca` read from the file': [overHttps, (url) => get(url, { ca: fromFile })],
  'node:http2': [
    overHttp2,
    async (url) => {
      const session = http2.connect(url);
      try {
        return await new Promise((resolve, reject) => {
          session.once('error', reject);
          resolve(text(session.request().setEncoding('utf8')));
        });
      } finally {
        session.destroy();
      }
    },
  ],
  'node:tls': [overTls, (_, port) => reading({ port, host: 'localhost' })],
  'node:tls, a context kept since the start': [
    overTls,
    (_, port) => reading({ port, host: 'localhost', secureContext: kept }),
  ],
  'node:tls, a context without `ca` kept since the start': [
    overTls,
    (_, port) => reading({ port, host: 'localhost', secureContext: keptWithoutCa }),
  ],
  'node:tls, a context of an own CA, the file added with `addCACert`': [
    overTls,
    (_, port) => reading({ port, host: 'localhost', secureContext: keptWithOwn }),
  ],
  axios: [overHttps, (url) => axios.get(url, { proxy: false }).then(({ data }) => data)],
  got: [overHttps, (url) => got(url, { retry: { limit: 0 } }).text()],
  'node-fetch': [overHttps, (url) => fetchOfNodeFetch(url).then((response) => response.text())],
  superagent: [overHttps, (url) => superagent.get(url).then(({ body, text: all }) => all ?? String(body))],
  undici: [overHttps, (url) => undici(url).then(({ body }) => body.text())],
  ws: [
    overWs,
    (url) =>
      new Promise((resolve, reject) => {
        const socket = new WebSocket(url.replace('https', 'wss'));
        socket.once('error', reject).once('message', (data) => {
          resolve(String(data));
          socket.terminate();
        });
      }),
  ],
  pg: [
    overPostgres,
    async (_, port) => {
      const client = new pg.Client({ host: 'localhost', port, user: 'u', database: 'd', ssl: true });
      client.on('error', () => undefined);
      await client.connect();
      client.connection.stream.destroy();
      return 'ok';
    },
  ],
  '@grpc/grpc-js': [overHttp2, (_, port) => connecting(port, grpc.credentials.createSsl(fromFile))],
  '@grpc/grpc-js, credentials without roots kept since the start': [
    overHttp2,
    (_, port) => connecting(port, sslWithoutRoots),
  ],
};

const eventually = async (check) => {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; ) {
    if (await check()) return 'yes';
    await new Promise((tick) => setTimeout(tick, 20));
  }
  return 'no';
};

const names = process.argv[2] ? [process.argv[2]] : Object.keys(CLIENTS);
const targets = new Map();
for (const name of names) targets.set(name, await target(CLIENTS[name][0]()));
const outcomeOf = (name) => {
  const { port } = targets.get(name);
  return CLIENTS[name][1](`https://localhost:${port}/`, port).then(
    (said) => said,
    (error) => [error, error.cause].map((one) => `${one?.code} ${one?.message}`).join(),
  );
};
const answers = async (name) => (await outcomeOf(name)) === 'ok';
/** Refused for its certificate; a channel of grpc-js says only that it did not connect. */
const refuses = async (name) =>
  (name.startsWith('@grpc/grpc-js') ? /deadline/ : /UNABLE_TO_VERIFY_LEAF_SIGNATURE/).test(
    await outcomeOf(name),
  );
/** One after the other: the first that asks waits for the change, and a busy machine is not made busier. */
const all = async (check) => {
  const outcomes = {};
  for (const name of names) outcomes[name] = await check(name);
  return outcomes;
};

const before = await all(async (name) => ((await answers(name)) ? 'yes' : 'no'));
put(cas[0] + cas[1]);
const added = await all((name) =>
  eventually(() => {
    targets.get(name).use(leaves[1]);
    return answers(name);
  }),
);
put(cas[1]);
const removed = await all((name) =>
  eventually(async () => {
    targets.get(name).use(leaves[0]);
    return refuses(name);
  }),
);
// After the removal the remaining CA still works: a refusal of everything would be no proof.
const remains = await all((name) =>
  eventually(() => {
    targets.get(name).use(leaves[1]);
    return answers(name);
  }),
);

readyMs = 30_000; // from here on nothing is refused
const answered = Object.fromEntries(names.map((name) => [name, 0]));
const failed = [];
let over = false;
const asking = names.map(async (name) => {
  while (!over) {
    const said = await outcomeOf(name);
    if (said === 'ok') answered[name]++;
    else failed.push([name, said]);
  }
});
/** Each client asks some more. */
const more = () => {
  const enough = names.map((name) => [name, answered[name] + 10]);
  return eventually(() => failed.length > 0 || enough.every(([name, count]) => answered[name] >= count));
};
const loaded = (loads) =>
  eventually(() => JSON.parse(readFileSync(process.env.HANDOVER_STATUS)).sources[0].loads === loads);
const steps = [await more()];
put(cas[1] + cas[0]);
steps.push(await loaded(4), await more());
for (const one of targets.values()) one.show(leaves[0]);
steps.push(await more());
put(cas[0]);
steps.push(await loaded(5), await more());
over = true;
await Promise.all(asking);

const clients = names.map((name) => {
  const isUnbroken = steps.every((said) => said === 'yes') && !failed.some(([of]) => of === name);
  return [name, [before[name], added[name], removed[name], remains[name], isUnbroken ? 'yes' : 'no']];
});
const requests = Object.values(answered).reduce((sum, count) => sum + count, failed.length);
const outcome = { clients: Object.fromEntries(clients), requests, failed };
process.stdout.write(JSON.stringify(outcome), () => process.exit(0));
