import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import postgresKeeping from 'postgres';
import { eventually, freePort, mustBe, program, startProgram } from './world.mjs';

export const title = 'PostgreSQL';

/** PostgreSQL does not run as root. */
const asPostgres = () => {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith('postgres:'));
  const [, , uid, gid] = line.split(':').map(Number);
  return { uid, gid, cwd: '/' };
};

export const start = async (files, { folder }) => {
  const as = asPostgres();
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  const give = (path) => chownSync(path, as.uid, as.gid);
  const giveAll = () => {
    for (const name of ['', ...readdirSync(files)]) give(join(files, name));
  };
  give(data);
  giveAll();
  const bin = program('postgresql');
  const made = spawnSync(join(bin, 'initdb'), ['-D', data, '-A', 'trust', '-N'], { ...as, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(made.stderr);
  writeFileSync(
    join(data, 'pg_hba.conf'),
    'local all all trust\nhostssl all all 127.0.0.1/32 trust clientcert=verify-ca\n',
  );
  const port = await freePort();
  const settings = {
    port,
    ssl: 'on',
    ssl_cert_file: join(files, 'tls.crt'),
    ssl_key_file: join(files, 'tls.key'),
    ssl_ca_file: join(files, 'ca.crt'),
    unix_socket_directories: data,
    listen_addresses: '127.0.0.1',
    fsync: 'off',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = startProgram(join(bin, 'postgres'), ['-D', data, ...args], as);
  /** When the server has read its files last; a new connection on the socket that needs no TLS. */
  const loadedAt = async () => {
    const client = new pg.Client({ host: data, port, user: 'postgres', database: 'postgres' });
    await client.connect();
    const { rows } = await client.query('select pg_conf_load_time()::text as at');
    await client.end();
    return rows[0].at;
  };
  await eventually(loadedAt);
  const reload = async () => {
    giveAll();
    const before = await loadedAt();
    server.child.kill('SIGHUP');
    await eventually(async () => {
      if ((await loadedAt()) === before) throw new Error('PostgreSQL did not reload');
    });
  };
  return { port, reload, end: () => server.end('SIGINT') };
};

const one = mustBe(1);
// Connections that last for one query.
const postgres = (options) => postgresKeeping({ ...options, max: 1, max_lifetime: 0.001 });

export const drivers = [
  {
    package: 'pg',
    make: ({ identity, host, port }) =>
      new pg.Pool({ host, port, user: 'postgres', ssl: identity.tlsOptions() }),
    ask: async (pool) => {
      const client = await pool.connect();
      try {
        one((await client.query('select 1 as one')).rows[0].one);
      } finally {
        client.release(true); // closed: each request is a new connection
      }
    },
    end: (pool) => pool.end(),
  },
  {
    package: 'postgres',
    make: ({ identity, host, port }) =>
      postgres({ host, port, user: 'postgres', ssl: identity.tlsOptions() }),
    ask: async (sql) => one((await sql`select 1 as one`)[0].one),
    end: (sql) => sql.end(),
  },
];
