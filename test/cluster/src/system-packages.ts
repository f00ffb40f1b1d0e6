import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import type { Say } from './build.ts';

/** Programs of the system that the node and the tests use, and the Debian package of each. */
const PROGRAMS = {
  runc: 'runc',
  nft: 'nftables',
  busybox: 'busybox-static',
  ip: 'iproute2',
  mount: 'mount',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
  keytool: 'default-jdk-headless',
} as const;

export type Program = keyof typeof PROGRAMS;

// sbin is not in every user's PATH, and nft is there.
const DIRECTORIES = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/sbin', '/usr/local/bin'];

export const programOf = (program: Program): string | undefined =>
  DIRECTORIES.map((directory) => join(directory, program)).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

export const requireProgram = (program: Program): string => {
  const path = programOf(program);
  if (path === undefined) {
    throw new HandoverError('CLUSTER_PACKAGES', `no ${program}: install ${PROGRAMS[program]}`);
  }
  return path;
};

/** Why this machine cannot run a node, or undefined if it can. */
export const noNodeBecause = (): string | undefined => {
  if (process.platform !== 'linux') return 'a node needs Linux';
  return process.getuid?.() === 0
    ? undefined
    : 'a node needs root: it mounts, and makes namespaces and cgroups';
};

/** Installs missing packages with apt where possible; else says in one line what to install. */
export function installPackages(say: Say): void {
  const missing = (): string[] => [
    ...new Set(
      (Object.keys(PROGRAMS) as Program[]).filter((p) => programOf(p) === undefined).map((p) => PROGRAMS[p]),
    ),
  ];
  const list = missing();
  if (list.length === 0) return;
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    say(`installing ${list.join(', ')}`);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const install = (): void => {
      spawnSync(
        'apt-get',
        ['-o', 'DPkg::Lock::Timeout=600', 'install', '-y', '-q', '--no-install-recommends', ...list],
        { env },
      );
    };
    install();
    if (missing().length > 0) {
      spawnSync('apt-get', ['update', '-q'], { env });
      install();
    }
  }
  const still = missing();
  if (still.length > 0) {
    throw new HandoverError(
      'CLUSTER_PACKAGES',
      `install ${still.join(', ')} (as root: apt-get install ${still.join(' ')})`,
    );
  }
}
