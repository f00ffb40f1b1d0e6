import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('machine.sh', import.meta.url));
const ENV = [
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin',
  'HOME=/root',
  'npm_config_offline=true',
  'npm_config_update_notifier=false',
];

/** A systemd of its own, with a root of its own. */
export interface Machine {
  /** Runs a command in it, to its end. */
  sh(command: string): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;
  /** One of its paths, seen from here. */
  path(inside: string): string;
  end(): Promise<void>;
}

/** Where control groups of version 2 are: beside those of version 1, or alone. */
const CGROUPS = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((path) =>
  existsSync(join(path, 'cgroup.procs')),
);

const removeGroups = (path: string): void => {
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroups(join(path, entry.name));
  rmdirSync(path);
};

const until = async <T>(
  found: () => T | undefined | Promise<T | undefined>,
  what: () => string,
): Promise<T> => {
  for (const deadline = Date.now() + 60_000; ; ) {
    const value = await found();
    if (value !== undefined) return value;
    if (Date.now() > deadline) throw new Error(what());
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};

/** Files that a systemd with the root of this system would delete or change; the answer throws if it did. */
const watchThisSystem = (): { readonly marker: string; readonly check: () => void } => {
  const markers = ['/tmp', '/var/tmp', '/run'].map((folder) =>
    join(folder, `handover-marker-${process.pid}`),
  );
  const accounts = (): string =>
    ['/etc/passwd', '/etc/group'].map((path) => readFileSync(path, 'utf8')).join();
  const before = accounts();
  for (const marker of markers) {
    writeFileSync(marker, '');
    utimesSync(marker, 0, 0); // old enough for every rule of tmpfiles.d
  }
  const check = (): void => {
    const lost = markers.filter((marker) => !existsSync(marker));
    for (const marker of markers) rmSync(marker, { force: true });
    if (lost.length > 0 || accounts() !== before || existsSync('/etc/handover'))
      throw new Error(`the machine reached this system: ${lost.join(', ')} or accounts or /etc/handover`);
  };
  return { marker: markers[0] ?? '', check };
};

export const startMachine = async (): Promise<Machine> => {
  if (CGROUPS === undefined) throw new Error('no control groups of version 2: systemd cannot run here');
  const { marker, check } = watchThisSystem();
  const root = mkdtempSync(join(tmpdir(), 'handover-machine-'));
  const group = join(CGROUPS, `handover-machine-${process.pid}`);
  mkdirSync(group);
  const apart = ['--mount', '--pid', '--fork', '--kill-child', '--cgroup', '--net', '--ipc', '--uts'];
  const child = spawn(
    'setpriv',
    [
      ...['--pdeathsig', 'KILL', 'sh', '-c', 'echo $$ > "$0/cgroup.procs" && exec "$@"', group],
      ...['unshare', ...apart, '--propagation', 'private', 'sh', SCRIPT, root, marker],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk;
    });
  const ended = once(child, 'close');
  const end = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
    await until(
      () => {
        try {
          removeGroups(group);
          return true;
        } catch {
          return undefined; // its processes are ending
        }
      },
      () => `${group} is still in use`,
    );
    rmSync(root, { recursive: true });
    check();
  };
  const first = (): string | undefined => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the machine ended: ${said}`);
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
    if (children === '' || !readFileSync(`/proc/${children}/comm`, 'utf8').startsWith('systemd'))
      return undefined;
    return children;
  };
  try {
    const pid = await until(first, () => `systemd did not start: ${said}`);
    const machine: Machine = {
      path: (inside) => `/proc/${pid}/root${inside}`,
      sh: async (command) => {
        const spaces = ['--mount', '--pid', '--cgroup', '--net', '--ipc', '--uts'];
        const shell = spawn(
          'nsenter',
          ['-t', pid, ...spaces, '--', 'env', '-i', ...ENV, 'sh', '-c', command],
          {
            stdio: ['ignore', 'pipe', 'pipe'],
          },
        );
        const heard = { stdout: '', stderr: '' };
        for (const name of ['stdout', 'stderr'] as const)
          shell[name].on('data', (chunk) => {
            heard[name] += chunk;
          });
        const [code] = await once(shell, 'close');
        return { code, ...heard };
      },
      end,
    };
    await until(
      async () =>
        (await machine.sh('systemctl is-system-running')).stdout === 'running\n' ? true : undefined,
      () => `systemd did not finish its start: ${said}`,
    );
    return machine;
  } catch (error) {
    await end();
    throw error;
  }
};

/** The package as it is published, in a tarball in `folder`. */
export const packed = (folder: string): string => {
  const top = fileURLToPath(new URL('../../../../../', import.meta.url));
  const build = join(folder, 'build');
  execFileSync(process.execPath, ['scripts/pack.mjs', build], {
    cwd: top,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [name] = execFileSync('npm', ['pack', join(build, 'handover'), '--pack-destination', folder], {
    cwd: top,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
    .trim()
    .split('\n');
  return join(folder, name ?? '');
};
