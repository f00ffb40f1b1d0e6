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

/** What the examples are about, by the Debian package that has it. */
const PROGRAMS = {
  nginx: () => onPath('nginx'),
  postgresql,
  systemd: () => onPath('systemd-analyze'),
  'docker-compose': () => onPath('docker-compose'),
  prometheus: () => onPath('promtool'),
} as const satisfies Record<string, () => string | undefined>;

type Package = keyof typeof PROGRAMS;
const PACKAGES = Object.keys(PROGRAMS) as readonly Package[];
const missing = (): readonly Package[] => PACKAGES.filter((name) => PROGRAMS[name]() === undefined);

/** Where a program is. This tier never skips: without it, the run has already ended. */
export const program = (name: Package): string => {
  const path = PROGRAMS[name]();
  if (path === undefined) throw new Error(`${name} is not installed`);
  return path;
};

/** Before the first test: installs what is missing if it may, else ends the run with one line. */
export const setup = (): void => {
  if (missing().length === 0) return;
  if (process.getuid?.() === 0 && onPath('apt-get') !== undefined) {
    // Nothing that is installed for a test shall be started by the package: invoke-rc.d(8).
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...missing()]])
      spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  const still = missing();
  if (still.length > 0) {
    throw new Error(
      `EXAMPLES_NEED_PROGRAMS: ${still.join(', ')} not found; run \`apt-get install ${still.join(' ')}\` as root, and this again`,
    );
  }
};
