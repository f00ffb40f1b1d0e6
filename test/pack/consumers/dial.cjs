// Small programs that know nothing of the runtime. Argument: which one.
const { once } = require('node:events');
const { readFileSync, renameSync } = require('node:fs');
const tls = require('node:tls');
const { Worker } = require('node:worker_threads');

const [how] = process.argv.slice(2);
const { cas, leaves } = JSON.parse(process.env.WORLD);

const listening = async (options) => {
  const server = tls.createServer(options, (socket) => {
    socket.on('error', () => undefined).write(String(Object.keys(socket.getPeerCertificate() ?? {}).length));
  });
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
};
const connect = (server, options = {}) =>
  new Promise((resolve, reject) => {
    const socket = tls.connect({ port: server.address().port, host: 'localhost', ...options });
    socket.once('error', reject).once('close', () => reject(new Error('closed')));
    socket.once('data', (data) => {
      resolve({ data: Number(data), protocol: socket.getProtocol() });
      socket.destroy();
    });
  });
const taken = (promise) =>
  promise.then(
    () => true,
    () => false,
  );
const each = async (options, more = {}) => {
  const servers = await Promise.all(leaves.map((leaf) => listening({ ...leaf, ...options })));
  return Promise.all(servers.map((server) => connect(server, more)));
};

const PROGRAMS = {
  default: async () => {
    const servers = await Promise.all(leaves.map((leaf) => listening(leaf)));
    return Promise.all(servers.map((server) => taken(connect(server))));
  },
  own: async () => {
    const servers = await Promise.all(leaves.map((leaf) => listening(leaf)));
    return Promise.all(servers.map((server) => taken(connect(server, { ca: cas[2] }))));
  },
  certificates: async () => {
    const asking = { requestCert: true, rejectUnauthorized: false };
    return (await each(asking, { rejectUnauthorized: false })).map(({ data }) => data);
  },
  profile: async () => {
    const folder = process.env.FOLDER;
    const [cert, key] = ['tls.crt', 'tls.key'].map((name) => readFileSync(`${folder}/${name}`));
    const server = await listening({ cert, key });
    const chosen = await listening({ cert, key, minVersion: 'TLSv1.2' });
    const old = { maxVersion: 'TLSv1.2' };
    const before = (await connect(server, old)).protocol;
    renameSync(`${folder}/next.json`, `${folder}/profile.json`);
    let after = '';
    for (const deadline = Date.now() + 10_000; Date.now() < deadline && after !== 'refused'; )
      after = await connect(server, old).then(
        ({ protocol }) => protocol,
        () => 'refused',
      );
    return [before, after, (await connect(chosen, old)).protocol];
  },
  status: async () => {
    const thread = new Worker('require("node:worker_threads").parentPort.postMessage("ready")', {
      eval: true,
    });
    await once(thread, 'message');
    return JSON.parse(readFileSync(process.env.HANDOVER_STATUS, 'utf8'));
  },
};

PROGRAMS[how]().then((outcome) => process.stdout.write(JSON.stringify(outcome), () => process.exit(0)));
