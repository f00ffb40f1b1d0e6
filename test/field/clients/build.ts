import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HandoverError } from '@handover/material';
import { cacheFor } from '../src/cache.ts';

const run = promisify(execFile);

const TOOLS = {
  go: { version: ['version'], install: 'install Go 1.26 or newer from go.dev' },
  cargo: { version: ['--version'], install: 'install Rust 1.89 or newer with cargo from rustup.rs' },
} as const;
export type Tool = keyof typeof TOOLS;

/** Output of one of the tools; a missing one and a failed build end the test with one line that says what to do. */
export const runTool = async (
  tool: Tool,
  args: readonly string[],
  cwd: string,
  what: string,
): Promise<string> => {
  const { version, install } = TOOLS[tool];
  await run(tool, version).catch((cause: unknown) => {
    throw new HandoverError('FIELD_NEEDS_TOOL', `${what} needs ${tool}; ${install}`, { cause });
  });
  const env = { ...process.env, GOWORK: 'off', CGO_ENABLED: '0' };
  // The machine's other work comes first.
  return run('nice', [tool, ...args], { cwd, env, maxBuffer: 64 * 1024 * 1024 }).then(
    ({ stdout }) => stdout,
    (error: { readonly stderr?: string }) => {
      const why = error.stderr?.trim().split('\n').slice(-3).join(' ');
      throw new HandoverError('FIELD_BUILD', `${what} does not build: ${why}`, { cause: error });
    },
  );
};

/** Folder with the programs of these packages of a Go module, statically linked; built again only when something changed. */
export const buildGo = async (
  module: string,
  what: string,
  packages: readonly string[] = ['.'],
): Promise<string> => {
  const folder = cacheFor(what);
  mkdirSync(folder, { recursive: true });
  // The flags of the test cluster's own builds: packages of Kubernetes that those compiled are not compiled again.
  const flags = ['-mod=readonly', '-trimpath', '-ldflags', '-s -w'];
  await runTool('go', ['build', ...flags, '-o', `${folder}/`, ...packages], module, what);
  return folder;
};

/** Path of the program of a cargo package, with the versions of its lock. */
export const buildRust = async (crate: string, what: string, program: string): Promise<string> => {
  const folder = cacheFor(what);
  await runTool('cargo', ['build', '--quiet', '--locked', '--release', '--target-dir', folder], crate, what);
  return join(folder, 'release', program);
};
