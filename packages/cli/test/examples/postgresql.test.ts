import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { directory, example, handover, rotatedTwice, started } from './around.ts';
import { program } from './programs.ts';

const postgres = (): { uid: number; gid: number; cwd: string } => {
  if (process.getuid?.() !== 0) throw new Error('run this tier as root: the key is given to another user');
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((candidate) => candidate.startsWith('postgres:'));
  const [, , uid, gid] = line?.split(':') ?? [];
  return { uid: Number(uid), gid: Number(gid), cwd: '/' };
};

test('PostgreSQL, with a key of its own user and pg_ctl reload, is rotated twice while psql sees no failure', async () => {
  const dir = directory();
  const data = join(dir, 'data');
  const bin = program('postgresql');
  const port = await freePort();
  const as = postgres();
  spawnSync('install', ['-d', '-o', 'postgres', '-g', 'postgres', '-m', '0700', data]);
  expect(spawnSync(join(bin, 'initdb'), ['-D', data, '-A', 'trust', '-N'], as).status).toBe(0);
  const local = example('postgresql/handover.yaml')
    .replaceAll('/var/lib/postgresql/data', data)
    .replace('127.0.0.1:5432', `127.0.0.1:${port}`)
    .replace('reloadWithin: 3m', 'reloadWithin: 300ms')
    .replace(' pg_ctl,', ` ${bin}/pg_ctl,`);
  writeFileSync(join(dir, 'handover.yaml'), local, { mode: 0o644 });
  await handover('run', dir, '--once');
  const secret = join(dir, 'out/default/secrets/db');
  const settings = [
    ['ssl', 'on'],
    ['ssl_cert_file', join(secret, 'tls.crt')],
    ['ssl_key_file', join(secret, 'tls.key')],
    ['unix_socket_directories', data],
    ['listen_addresses', '127.0.0.1'],
    ['fsync', 'off'],
  ].flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  started(
    spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...settings], { ...as, stdio: 'ignore' }),
  );
  const ca = join(dir, 'out/default/configmaps/internal-trust/ca.crt');
  const connection = `host=localhost hostaddr=127.0.0.1 port=${port} user=postgres dbname=postgres sslmode=verify-full sslrootcert=${ca}`;
  const ask = async (): Promise<string | undefined> => {
    const child = spawn(join(bin, 'psql'), [connection, '-Atc', 'select 1'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const [code] = await once(child, 'close');
    return code === 0 ? undefined : said;
  };
  await expect.poll(ask, { timeout: 60_000 }).toBeUndefined();
  // The server did not run when the files were first written: that hook failed, and handover repeats it.
  expect((await handover('run', dir, '--once')).code).toBe(0);
  const { codes, calls, problems } = await rotatedTwice(dir, ask);
  expect({ codes, problems }).toEqual({ codes: [0, 0], problems: [] });
  expect(calls).toBeGreaterThan(5);
  const { stdout } = await handover('status', '--json', '--home', `dir:${dir}`);
  const [authority] = JSON.parse(stdout).authorities;
  expect(authority).toMatchObject({ phase: 'Stable', generations: [{ generation: 3 }] });
  const served = spawnSync(
    'openssl',
    ['s_client', '-starttls', 'postgres', '-connect', `127.0.0.1:${port}`],
    { encoding: 'utf8', input: '' },
  ).stdout;
  const fingerprint = spawnSync('openssl', ['x509', '-noout', '-fingerprint', '-sha256'], {
    encoding: 'utf8',
    input: served,
  }).stdout;
  expect(fingerprint.replace(/[^0-9A-F]/g, '').toLowerCase()).toContain(authority.leaves[0].fingerprint);
  // its default: TLS 1.2 and 1.3, with more suites than any profile lists
  const asked = ['--starttls', 'postgres', '--profile', 'Old', '--timeout', '30s', '--json'];
  const checked = await handover('tls', 'check', `127.0.0.1:${port}`, ...asked);
  expect(checked.code).toBe(1);
  const [server] = JSON.parse(checked.stdout).servers;
  expect(server.versions.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
    'refused',
    'refused',
    'accepted',
    'accepted',
  ]);
  expect(server.negotiated).toMatchObject({ kind: 'done', version: 'TLS 1.3' });
});
