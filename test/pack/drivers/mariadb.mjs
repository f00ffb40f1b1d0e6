import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createPool } from 'mariadb';
import mysql from 'mysql2/promise';
import { eventually, freePort, mustBe, program, startProgram } from './world.mjs';

export const title = 'MariaDB';
/** The pool of mariadb names the last error that it kept, which may be that of a closed connection: then it got none. */
export const refused = /certificate|pool failed to retrieve a connection/;

export const start = async (files, { folder }) => {
  const [data, socketPath] = [join(folder, 'data'), join(folder, 'mysql.sock')];
  const made = spawnSync(
    program('mariadb-server').replace('mariadbd', '../bin/mariadb-install-db'),
    [
      '--no-defaults',
      `--datadir=${data}`,
      '--user=root',
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ],
    { encoding: 'utf8' },
  );
  if (made.status !== 0) throw new Error(made.stderr + made.stdout);
  const port = await freePort();
  const settings = {
    datadir: data,
    user: 'root',
    socket: socketPath,
    port,
    'bind-address': '127.0.0.1',
    'ssl-cert': join(files, 'tls.crt'),
    'ssl-key': join(files, 'tls.key'),
    'ssl-ca': join(files, 'ca.crt'),
    'innodb-flush-log-at-trx-commit': 0,
    'skip-name-resolve': 1,
  };
  const args = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  const server = startProgram(program('mariadb-server'), ['--no-defaults', ...args]);
  const admin = await eventually(() => mysql.createConnection({ socketPath, user: 'root' }));
  await admin.query("create user app@'127.0.0.1' require x509");
  const end = async () => {
    await admin.end();
    await server.end();
  };
  const drop = () => admin.query("kill connection user app@'127.0.0.1'");
  return { port, reload: () => admin.query('flush ssl'), drop, end };
};

const one = mustBe(1);
// The pool says only at its timeout why it got no connection, and would open connections ahead. Its 1 s for a handshake is too short on a busy machine.
const mariadb = {
  createPool: (options) =>
    createPool({
      ...options,
      acquireTimeout: 5_000,
      connectTimeout: 5_000,
      connectionLimit: 1,
      minimumIdle: 0,
    }),
};

export const drivers = [
  {
    package: 'mysql2',
    make: ({ identity, host, port }) =>
      mysql.createPool({
        host,
        port,
        user: 'app',
        ssl: Object.assign(identity.tlsOptions(), { verifyIdentity: true }),
      }),
    ask: async (pool) => {
      const connection = await pool.getConnection();
      try {
        one((await connection.query('select 1 as one'))[0][0].one);
      } finally {
        connection.destroy(); // each request is a new connection
      }
    },
    end: (pool) => pool.end(),
  },
  {
    package: 'mariadb',
    make: ({ identity, host, port }) =>
      mariadb.createPool({ host, port, user: 'app', ssl: identity.tlsOptions() }),
    ask: async (pool) => {
      const connection = await pool.getConnection();
      try {
        one(Number((await connection.query('select 1 as one'))[0].one));
      } finally {
        connection.destroy();
      }
    },
    end: (pool) => pool.end(),
  },
];
