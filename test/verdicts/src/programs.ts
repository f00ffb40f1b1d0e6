import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const judges = fileURLToPath(new URL('../judges/', import.meta.url));

interface Tool {
  readonly command: string;
  /** Prints the version. */
  readonly arguments: readonly string[];
  readonly version: RegExp;
  /** How to install it. */
  readonly install: string;
  /** Debian's package, if root can install it. */
  readonly debian?: string;
}

const TOOLS = {
  openssl: {
    command: 'openssl',
    arguments: ['version'],
    version: /^OpenSSL (\d\S+)/,
    install: '`apt-get install openssl`',
    debian: 'openssl',
  },
  certtool: {
    command: 'certtool',
    arguments: ['--version'],
    version: /^certtool (\S+)/,
    install: '`apt-get install gnutls-bin`',
    debian: 'gnutls-bin',
  },
  java: {
    command: 'java',
    arguments: ['-version'],
    version: /version "([^"]+)"/,
    install: '`apt-get install default-jdk-headless`, version 17 or newer',
    debian: 'default-jdk-headless',
  },
  javac: {
    command: 'javac',
    arguments: ['-version'],
    version: /^javac (\S+)/,
    install: '`apt-get install default-jdk-headless`, version 17 or newer',
    debian: 'default-jdk-headless',
  },
  go: {
    command: 'go',
    arguments: ['version'],
    version: /go version go(\S+)/,
    install: 'Go 1.26 or newer from go.dev',
  },
  cargo: {
    command: 'cargo',
    arguments: ['--version'],
    version: /^cargo (\S+)/,
    install: 'Rust 1.85 or newer with cargo from rustup.rs',
  },
} as const satisfies Record<string, Tool>;

type ToolName = keyof typeof TOOLS;
const NAMES = Object.keys(TOOLS) as readonly ToolName[];

export const versionOf = (name: ToolName): string | undefined => {
  const tool: Tool = TOOLS[name];
  const { stdout, stderr, status } = spawnSync(tool.command, tool.arguments, { encoding: 'utf8' });
  return status === 0 ? tool.version.exec(`${stdout}${stderr}`)?.[1] : undefined;
};

const missing = (): readonly ToolName[] => NAMES.filter((name) => versionOf(name) === undefined);

/** Installs what it can, else ends the run with one line: a missing judge must not look like one that agrees. */
export function requireTools(): void {
  const packages = new Set(missing().flatMap((name) => (TOOLS[name] as Tool).debian ?? []));
  if (packages.size > 0 && process.getuid?.() === 0) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...packages]])
      spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  const still = missing();
  if (still.length === 0) return;
  const how = [...new Set(still.map((name) => TOOLS[name].install))].join(', and ');
  throw new Error(`VERDICTS_NEED_TOOLS: ${still.join(', ')} not found; install ${how}; then run this again`);
}

/** Compiled judges live outside the checkout: cargo's folder alone is 30 MB. */
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'handover', 'verdicts');

const build = (name: 'go' | 'java' | 'rust', command: string, args: readonly string[]): void => {
  const env = { ...process.env, GOWORK: 'off', CGO_ENABLED: '0' };
  const { status, stderr } = spawnSync(command, args, { cwd: join(judges, name), env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`VERDICTS_BUILD: the ${name} judge does not build: ${stderr.trim()}`);
};

/** Each as the command that reads folders from stdin. */
export function buildJudges(): Readonly<Record<'go' | 'java' | 'rust', readonly string[]>> {
  mkdirSync(cache, { recursive: true });
  const go = join(cache, 'judge-go');
  const classes = join(cache, 'java');
  const rust = join(cache, 'rust');
  build('go', 'go', ['build', '-o', go, '.']);
  build('java', 'javac', ['-d', classes, 'Judge.java']);
  build('rust', 'cargo', ['build', '--quiet', '--locked', '--release', '--target-dir', rust]);
  return { go: [go], java: ['java', '-cp', classes, 'Judge'], rust: [join(rust, 'release', 'judge')] };
}
