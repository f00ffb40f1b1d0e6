// node scripts/ci/machine.mjs: the first step of .ci/run. Says what this machine lacks for the tiers with real programs, and installs it, all at once:
// the set-up of each tier then finds its programs there.
import { spawnSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';

/** Debian packages of all tiers. */
export const PACKAGES = [
  'apache2',
  'buildah',
  'busybox-static',
  'ca-certificates',
  'chromium',
  'curl',
  'default-jdk-headless',
  'docker-compose',
  'dovecot-imapd',
  'easy-rsa',
  'etcd-server',
  'exim4-daemon-light',
  'gnutls-bin',
  'haproxy',
  'iproute2',
  'ldap-utils',
  'mariadb-server',
  'memcached',
  'mkcert',
  'mosquitto',
  'mosquitto-clients',
  'nats-server',
  'nftables',
  'nginx',
  'openssl',
  'postgresql',
  'prometheus',
  'python3',
  'rabbitmq-server',
  'redis-server',
  'runc',
  'slapd',
  'stunnel4',
  'systemd',
];

/** Programs that no Debian package brings in the version that is needed. */
const TOOLS = [
  { command: 'node', args: ['--version'], how: 'Node 24 or 22 (20.19 still works)' },
  { command: 'git', args: ['--version'], how: 'git' },
  { command: 'go', args: ['version'], how: 'Go 1.26 or newer from go.dev' },
  { command: 'cargo', args: ['--version'], how: 'Rust 1.85 or newer with cargo from rustup.rs' },
  { command: 'cargo', args: ['clippy', '--version'], how: 'clippy: rustup component add clippy' },
  { command: 'cargo', args: ['fmt', '--version'], how: 'rustfmt: rustup component add rustfmt' },
];

const said = (command, args) => spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
const say = (line) => process.stdout.write(`${line}\n`);

/** Packages of the list that are not installed. */
const missing = () => {
  const { stdout } = said('dpkg-query', [
    '--show',
    '--showformat=$' + '{Package} $' + '{db:Status-Status}\\n',
    ...PACKAGES,
  ]);
  const installed = new Set(
    (stdout ?? '')
      .split('\n')
      .filter((line) => line.endsWith(' installed'))
      .map((line) => line.split(' ', 1)[0]),
  );
  return PACKAGES.filter((name) => !installed.has(name));
};

const install = (names) => {
  // RUNLEVEL keeps packages from starting what they install: invoke-rc.d(8). --no-remove: another mail server stays.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  for (const args of [
    ['update', '-q'],
    ['install', '-y', '-q', '--no-remove', '--no-install-recommends', ...names],
  ])
    spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=600', ...args], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const began = Date.now();
  const lacking = TOOLS.filter(({ command, args }) => said(command, args).status !== 0);
  for (const { command, how } of lacking) say(`missing: ${command}; install ${how}`);
  const packages = missing();
  say(
    packages.length === 0
      ? `all ${PACKAGES.length} Debian packages are there`
      : `missing: ${packages.join(' ')}; installing`,
  );
  if (packages.length > 0) {
    if (process.getuid?.() === 0) install(packages);
    const still = missing();
    if (still.length > 0) say(`missing: ${still.join(' ')}; as root: apt-get install ${still.join(' ')}`);
    else say(`installed in ${Math.round((Date.now() - began) / 1000)} s`);
    lacking.push(...still);
  }
  process.exitCode = lacking.length === 0 ? 0 : 1;
}
