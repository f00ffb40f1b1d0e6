// Small programs that know nothing of the runtime. Argument: which one.
const { fork } = require('node:child_process');
const { once } = require('node:events');
const { readFileSync, renameSync, writeFileSync } = require('node:fs');
const { setTimeout: pause } = require('node:timers/promises');
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

/** Resolves with the session once the server has answered. */
const sessionOf = (port, options = {}) =>
  new Promise((resolve, reject) => {
    const socket = tls.connect({ port, host: 'localhost', ...options });
    let session;
    socket.on('session', (fresh) => {
      session = fresh;
    });
    let resumed;
    socket.once('error', reject).once('data', () => {
      resumed = socket.isSessionReused();
      setTimeout(() => socket.destroy(), 50);
    });
    socket.once('close', () =>
      resumed === undefined ? reject(new Error('closed')) : resolve({ session, resumed }),
    );
  });

const PROGRAMS = {
  // A server in a process that does not follow anything: its tickets stay good.
  serve: async () => {
    const server = await listening({ ...leaves[0], ticketKeys: Buffer.alloc(48, 7) });
    process.on('disconnect', () => process.exit());
    process.send(server.address().port);
    return new Promise(() => undefined);
  },
  sessions: async () => {
    const child = fork(__filename, ['serve'], { execArgv: [], env: { WORLD: process.env.WORLD } });
    const [port] = await once(child, 'message');
    const { session } = await sessionOf(port);
    const { resumed } = await sessionOf(port, { session });
    writeFileSync(process.env.HANDOVER_CA, cas[1]);
    let fresh = true;
    for (const deadline = Date.now() + 10_000; fresh && Date.now() < deadline; )
      fresh = await taken(sessionOf(port));
    const old = await taken(sessionOf(port, { session }));
    child.kill();
    return { resumed, fresh, old };
  },
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
    // A thread that starts is silent until it has said what it loaded.
    for (const until = Date.now() + 10_000; ; await pause(50)) {
      const status = JSON.parse(readFileSync(process.env.HANDOVER_STATUS, 'utf8'));
      if (status.sources?.length > 0 || Date.now() > until) return status;
    }
  },
};

PROGRAMS[how]().then((outcome) => process.stdout.write(JSON.stringify(outcome), () => process.exit(0)));
