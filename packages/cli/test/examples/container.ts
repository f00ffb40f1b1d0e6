import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { directory } from './around.ts';
import { program } from './programs.ts';

const TOP = fileURLToPath(new URL('../../../../', import.meta.url));

/** What docker leaves to root in a container. */
const CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID'].map(
  (name) => `CAP_${name}`,
);

/** The image of deploy/image/Dockerfile, laid out by the same program, and its entry point. */
const image = (): { readonly rootfs: string; readonly entry: readonly string[] } => {
  const rootfs = directory();
  const packed = directory();
  for (const args of [
    ['scripts/pack.mjs', packed],
    ['deploy/image/root.mjs', join(packed, 'handover'), rootfs],
  ])
    execFileSync(process.execPath, args, { cwd: TOP, stdio: ['ignore', 'ignore', 'inherit'] });
  const entry = /^ENTRYPOINT (\[.*\])$/m.exec(
    readFileSync(join(TOP, 'deploy/image/Dockerfile'), 'utf8'),
  )?.[1];
  return { rootfs, entry: JSON.parse(entry ?? '[]') };
};

export interface Container {
  /** Runs a command beside it, in the same container. */
  exec(...command: readonly string[]): { readonly status: number | null; readonly stdout: string };
  /** Sends SIGTERM, as `docker stop` does; its exit code. */
  stop(): Promise<number>;
}

export interface ContainerSpec {
  readonly rootfs: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A directory here, and where it is in the container. */
  readonly mount: readonly [from: string, to: string];
}

/** A container, as root, that ends with the test. Its network is its own and has no address. */
export const runContainer = ({
  rootfs,
  command,
  env = {},
  mount: [source, destination],
}: ContainerSpec): Container => {
  const bundle = directory();
  const runc = program('runc');
  execFileSync(runc, ['spec'], { cwd: bundle });
  const file = join(bundle, 'config.json');
  const spec = JSON.parse(readFileSync(file, 'utf8'));
  spec.root = { path: rootfs, readonly: true };
  spec.process.terminal = false;
  spec.process.args = command;
  spec.process.env.push(...Object.entries(env).map(([name, value]) => `${name}=${value}`));
  for (const kind of ['bounding', 'effective', 'permitted']) spec.process.capabilities[kind] = CAPABILITIES;
  spec.mounts.push({ destination, type: 'bind', source, options: ['rbind', 'rw'] });
  writeFileSync(file, JSON.stringify(spec));
  const id = `handover-test-${process.pid}`;
  // Outlives the test's other directories: without it the container could not be ended.
  const kept = mkdtempSync(join(tmpdir(), 'handover-runc-'));
  const state = ['--root', kept];
  const child = spawn(runc, [...state, 'run', '--bundle', bundle, id], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    spawnSync(runc, [...state, 'delete', '--force', id]);
    await ended;
    rmSync(kept, { recursive: true, force: true });
  });
  return {
    exec: (...args) => {
      const { status, stdout } = spawnSync(runc, [...state, 'exec', id, ...args], { encoding: 'utf8' });
      return { status, stdout };
    },
    stop: async () => {
      execFileSync(runc, [...state, 'kill', id, 'TERM']);
      const [code] = await ended;
      return code;
    },
  };
};

/** A container of the image, with one directory mounted; `exec` runs `handover`. */
export const runImage = (command: readonly string[], from: string, to: string): Container => {
  const { rootfs, entry } = image();
  const { exec, stop } = runContainer({ rootfs, command: [...entry, ...command], mount: [from, to] });
  return { exec: (...args) => exec(...entry, ...args), stop };
};
