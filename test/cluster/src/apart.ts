import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import type { Say } from './build.ts';
import { whileLocked } from './build-lock.ts';
import { modulesDirectory, type Places, places } from './places.ts';

/** A program for few tests, apart from the pins of a cluster, so that other tests neither build it nor wait for it. */
export interface ProgramApart {
  /** Its folder under binaries/, and its name. */
  readonly name: string;
  /** Files of that folder that determine the build. */
  readonly files: readonly string[];
  /** The package that go builds: one of a module in go.mod, or `.`. */
  readonly path: string;
  /** The module that gives its version. */
  readonly module: string;
  /** Linker variables that its own build sets, from the version of a module in go.mod. */
  readonly variables?: (versionOf: (module: string) => string) => Readonly<Record<string, string>>;
}

const read = ({ name }: ProgramApart, file: string): string =>
  readFileSync(join(modulesDirectory, name, file), 'utf8');

const versionIn = (program: ProgramApart, named: string): string => {
  const words = read(program, 'go.mod')
    .split('\n')
    .map((line) =>
      line
        .trim()
        .replace(/^require\s+/, '')
        .split(/\s+/),
    );
  return words.find(([module, version]) => module === named && version?.startsWith('v'))?.[1] ?? 'unknown';
};

export const versionApart = (program: ProgramApart): string => versionIn(program, program.module);

const argumentsOf = (program: ProgramApart): readonly string[] => {
  const variables = program.variables?.((module) => versionIn(program, module)) ?? {};
  const set = Object.entries(variables).map(([name, value]) => `-X ${name}=${value}`);
  return ['build', '-mod=readonly', '-trimpath', '-ldflags', ['-s', '-w', ...set].join(' ')];
};

const hashOf = (program: ProgramApart): string => {
  const hash = createHash('sha256').update(
    `${process.platform} ${process.arch} ${argumentsOf(program).join('\0')}\n`,
  );
  for (const file of program.files) hash.update(read(program, file));
  return hash.digest('hex').slice(0, 16);
};

const goBuild = (program: ProgramApart, output: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn('go', [...argumentsOf(program), '-o', output, program.path], {
      cwd: join(modulesDirectory, program.name),
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
            `go build of ${program.name} failed; can this machine reach its Go module proxy?`,
          ),
        );
    });
  });

/** Path of that program at its pinned version, built once. */
export async function findApart(program: ProgramApart, say: Say, where: Places = places()): Promise<string> {
  const { name } = program;
  const directory = join(where.cache, `${name}-${hashOf(program)}`);
  const path = join(directory, name);
  if (existsSync(path)) return path;
  mkdirSync(where.cache, { recursive: true });
  await whileLocked(
    `${directory}.lock`,
    () => {},
    async () => {
      if (existsSync(path)) return;
      mkdirSync(directory, { recursive: true });
      const partial = join(directory, `.${name}.${process.pid}`);
      try {
        say(`building ${name} ${versionApart(program)} once; cold this takes some minutes`);
        await goBuild(program, partial);
        renameSync(partial, path);
      } finally {
        rmSync(partial, { force: true });
      }
    },
  );
  return path;
}
