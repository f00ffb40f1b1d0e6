import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';
import { run } from './run.ts';

const { bare, packed } = inject('installed');
const folder = dirname(bare);

const ARGS = ['install', '--no-audit', '--no-fund', '--loglevel=error'] as const;

const begin = (cwd: string): void => {
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'package.json'), '{"private":true}\n');
};

const install = (cwd: string, packages: readonly string[]): void => {
  begin(cwd);
  execFileSync('npm', [...ARGS, ...packages], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
};

const placeOf = (name: string): string => join(folder, `project-${name}`);
const runtime = join(folder, packed.find((one) => one.name === '@handover/runtime')?.filename ?? '');

/** A project of its own: the packed runtime, and these packages from the registry. Made once for each name. */
export const project = (name: string, packages: readonly string[]): string => {
  const cwd = placeOf(name);
  if (!existsSync(cwd)) install(cwd, [runtime, ...packages]);
  return cwd;
};

/** The same, while the caller does other work. For a name of its own; versions are exact, so what npm has need not be asked for again. */
export const projectLater = async (name: string, packages: readonly string[]): Promise<string> => {
  const cwd = placeOf(name);
  begin(cwd);
  const { code, stderr } = await run(cwd, 'npm', ...ARGS, '--prefer-offline', runtime, ...packages);
  if (code !== 0) throw new Error(`npm install failed in ${name}: ${stderr}`);
  return cwd;
};

/** Clients and servers of others, for tests that use them as they are. */
export const programs = (): string =>
  project('programs', [
    '@grpc/grpc-js@1.14.7',
    'axios@1.21.1',
    'express@5.3.0',
    'got@14.6.5',
    'node-fetch@3.3.2',
    'pg@8.23.1',
    'superagent@10.4.2',
    'undici@7.30.2',
    'ws@8.22.2',
  ]);

/** The oldest Node that we support, and the newest of each later line. */
export const NODES = ['20.19.0', '22', '24', '26'] as const;

/** The program of a Node, from the npm package `node`. */
export const nodeOf = (version: string): string => {
  const cwd = join(folder, `node-${version}`);
  if (!existsSync(cwd)) install(cwd, [`node@${version}`]);
  return join(cwd, 'node_modules/node/bin/node');
};
