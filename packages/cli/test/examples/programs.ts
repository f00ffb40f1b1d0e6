import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const onPath = (name: string): string | undefined =>
  [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']
    .map((directory) => join(directory, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });

/** Debian keeps PostgreSQL's programs by version and off the PATH. */
const postgresql = (): string | undefined => {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root) : [];
  return versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(root, version, 'bin'))
    .find((directory) => existsSync(join(directory, 'initdb')));
};

/** The programs of the examples, by Debian package. */
const PROGRAMS = {
  nginx: () => onPath('nginx'),
  postgresql,
  systemd: () => onPath('systemd-analyze'),
  'docker-compose': () => onPath('docker-compose'),
  runc: () => onPath('runc'),
  prometheus: () => onPath('promtool'),
  mkcert: () => onPath('mkcert'),
  'easy-rsa': () => ['/usr/share/easy-rsa/easyrsa'].find((path) => existsSync(path)),
  haproxy: () => onPath('haproxy'),
  openssl: () => onPath('openssl'),
  'default-jdk-headless': () => onPath('keytool'),
  'golang-go': () => onPath('go'),
  python3: () => onPath('python3'),
  curl: () => onPath('curl'),
  'ca-certificates': () => onPath('update-ca-certificates'),
  'mariadb-server': () => onPath('mariadbd'),
  slapd: () => onPath('slapd'),
  'ldap-utils': () => onPath('ldapwhoami'),
  'exim4-daemon-light': () => onPath('exim4'),
  'redis-server': () => onPath('redis-server'),
  mosquitto: () => onPath('mosquitto'),
  'mosquitto-clients': () => onPath('mosquitto_pub'),
  apache2: () => onPath('apache2'),
  stunnel4: () => onPath('stunnel4'),
  'etcd-server': () => onPath('etcd'),
  memcached: () => onPath('memcached'),
  'dovecot-imapd': () => (existsSync('/usr/lib/dovecot/imap') ? onPath('dovecot') : undefined),
} as const satisfies Record<string, () => string | undefined>;

/** Servers that only the drivers of the runtime need. */
const SERVERS = {
  'rabbitmq-server': () => ['/usr/lib/rabbitmq/bin/rabbitmq-server'].find((path) => existsSync(path)),
  'nats-server': () => onPath('nats-server'),
} as const satisfies Record<string, () => string | undefined>;

const KNOWN = { ...PROGRAMS, ...SERVERS };
export type Package = keyof typeof KNOWN;
const PACKAGES = Object.keys(PROGRAMS) as readonly Package[];
const missing = (wanted: readonly Package[]): readonly Package[] =>
  wanted.filter((name) => KNOWN[name]() === undefined);

/** Path of a program. This tier never skips: a missing program has already ended the run. */
export const program = (name: Package): string => {
  const path = KNOWN[name]();
  if (path === undefined) throw new Error(`${name} is not installed`);
  return path;
};

/** Installs missing programs if it can, else ends the run with one line. */
export const provide = (wanted: readonly Package[]): void => {
  if (missing(wanted).length === 0) return;
  if (process.getuid?.() === 0 && onPath('apt-get') !== undefined) {
    // Keeps packages from starting what they install: invoke-rc.d(8). --no-remove: another mail server stays.
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    // Another apt-get may be at work.
    for (const args of [
      ['update'],
      ['install', '-y', '--no-remove', '--no-install-recommends', ...missing(wanted)],
    ])
      spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=600', ...args], {
        env,
        stdio: ['ignore', 'ignore', 'inherit'],
      });
  }
  const still = missing(wanted);
  if (still.length > 0) {
    throw new Error(
      `EXAMPLES_NEED_PROGRAMS: ${still.join(', ')} not found; run \`apt-get install ${still.join(' ')}\` as root, and this again`,
    );
  }
};

/** Before the first test. */
export const setup = (): void => provide(PACKAGES);
