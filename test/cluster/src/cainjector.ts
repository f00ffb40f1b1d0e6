import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import type { Say } from './build.ts';
import { whileLocked } from './build-lock.ts';
import { modulesDirectory, type Places, places } from './places.ts';

// Only a benchmark needs it: no part of the pins of a cluster, so that nobody else builds it or waits for it.
const MODULE = join(modulesDirectory, 'cainjector');
const FILES = ['go.mod', 'go.sum', 'main.go'] as const;
const ARGUMENTS = ['build', '-mod=readonly', '-trimpath', '-ldflags', '-s -w'] as const;
const PINNED = /^\s*(?:require\s+)?github\.com\/cert-manager\/cert-manager (v\S+)/m;

const read = (file: string): string => readFileSync(join(MODULE, file), 'utf8');

export const cainjectorVersion = (): string => PINNED.exec(read('go.mod'))?.[1] ?? 'unknown';

const hashOf = (): string => {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${ARGUMENTS.join('\0')}\n`);
  for (const file of FILES) hash.update(read(file));
  return hash.digest('hex').slice(0, 16);
};

const goBuild = (output: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn('go', [...ARGUMENTS, '-o', output, '.'], {
      cwd: MODULE,
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve();
      else
        reject(
          new HandoverError(
            'CLUSTER_BUILD',
            'go build of cainjector failed; can this machine reach its Go module proxy?',
          ),
        );
    });
  });

/** Path of cert-manager's cainjector at its pinned version, built once. */
export async function findCainjector(say: Say, where: Places = places()): Promise<string> {
  const directory = join(where.cache, `cainjector-${hashOf()}`);
  const path = join(directory, 'cainjector');
  if (existsSync(path)) return path;
  mkdirSync(where.cache, { recursive: true });
  await whileLocked(
    `${directory}.lock`,
    () => {},
    async () => {
      if (existsSync(path)) return;
      mkdirSync(directory, { recursive: true });
      const partial = join(directory, `.cainjector.${process.pid}`);
      try {
        say(`building cainjector ${cainjectorVersion()} once; cold this takes some minutes`);
        await goBuild(partial);
        renameSync(partial, path);
      } finally {
        rmSync(partial, { force: true });
      }
    },
  );
  return path;
}
