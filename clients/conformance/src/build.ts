import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Compiled programs live outside the checkout: cargo's folder alone is 300 MB. */
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'handover', 'clients');

const INSTALL: Readonly<Record<string, string>> = {
  cargo: 'Rust 1.85 or newer with cargo from rustup.rs',
  go: 'Go 1.26 or newer from go.dev',
  javac: 'a JDK, version 17 or newer',
};

/** The folder of a client, beside this one. */
export const clientFolder = (name: string): string =>
  fileURLToPath(new URL(`../../${name}/`, import.meta.url));

/** Output of a tool in the folder of a client. A failure is told with what the tool said. */
export const tool = (client: string, command: string, ...args: readonly string[]): Promise<string> =>
  run(command, args, {
    cwd: clientFolder(client),
    env: { ...process.env, GOWORK: 'off', CARGO_TARGET_DIR: join(cache, 'rust') },
    maxBuffer: 64 * 1024 * 1024,
  }).then(
    ({ stdout }) => stdout,
    (error: { readonly code?: string; readonly stdout?: string; readonly stderr?: string }) => {
      const missing = `install ${INSTALL[command] ?? command}`;
      const why = error.code === 'ENOENT' ? missing : `${error.stdout ?? ''}${error.stderr ?? ''}`.trim();
      throw new Error(`${command} ${args.join(' ')} in clients/${client}: ${why}`);
    },
  );

/** The drivers of the cases, built when they are asked for. */
export const DRIVERS: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  Node: async () => [process.execPath, fileURLToPath(new URL('../drivers/node.mjs', import.meta.url))],
  Python: async () => ['python3', fileURLToPath(new URL('../drivers/python.py', import.meta.url))],
  Java: async () => {
    const classes = join(cache, 'java');
    const sources = [
      '../examples/java/HandoverFollow.java',
      '../examples/java/Server.java',
      'conformance/drivers/Driver.java',
    ];
    await tool('.', 'javac', '-Xlint:all', '-Werror', '-d', classes, ...sources);
    return ['java', '-cp', classes, 'Driver'];
  },
  Go: async () => {
    mkdirSync(cache, { recursive: true });
    const program = join(cache, 'conformance-go');
    await tool('go', 'go', 'build', '-o', program, './internal/conformance');
    return [program];
  },
  Rust: async () => {
    await tool('rust', 'cargo', 'build', '--quiet', '--locked', '--example', 'conformance');
    return [join(cache, 'rust', 'debug', 'examples', 'conformance')];
  },
};
