import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@handover/test-api-server';
import { onTestFinished } from 'vitest';
import { directory } from './around.ts';
import { program } from './programs.ts';

const TOP = fileURLToPath(new URL('../../../../', import.meta.url));

/** What docker leaves to root in a container, as far as it is needed. */
const CAPABILITIES = [
  ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID'],
].map((name) => `CAP_${name}`);
let count = 0;

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
  /** Before a command line, runs it in the container's network, with the machine's files. */
  enter(): readonly string[];
  /** Sends SIGTERM, as `docker stop` does; its exit code. */
  stop(): Promise<number>;
}

export interface ContainerSpec {
  readonly rootfs: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What is here, and where it is in the container; `ro`: it cannot be changed there. */
  readonly mounts: readonly (readonly [from: string, to: string, mode?: string])[];
  /** True: the image is this container's own, and can be written to. */
  readonly isWritable?: boolean;
}

/** A container, as root, that ends with the test. Its network is its own and has no address. */
export const runContainer = ({
  rootfs,
  command,
  env = {},
  mounts,
  isWritable = false,
}: ContainerSpec): Container => {
  const bundle = directory();
  const runc = program('runc');
  execFileSync(runc, ['spec'], { cwd: bundle });
  const file = join(bundle, 'config.json');
  const spec = JSON.parse(readFileSync(file, 'utf8'));
  spec.root = { path: rootfs, readonly: !isWritable };
  spec.process.terminal = false;
  spec.process.args = command;
  spec.process.env.push(...Object.entries(env).map(([name, value]) => `${name}=${value}`));
  for (const kind of ['bounding', 'effective', 'permitted']) spec.process.capabilities[kind] = CAPABILITIES;
  for (const [source, destination, mode = 'rw'] of mounts)
    spec.mounts.push({ destination, type: 'bind', source, options: ['rbind', mode] });
  writeFileSync(file, JSON.stringify(spec));
  const id = `handover-test-${process.pid}-${++count}`;
  const state = ['--root', temporaryFolder()];
  const child = spawn(runc, [...state, 'run', '--bundle', bundle, id], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    spawnSync(runc, [...state, 'delete', '--force', id]);
    await ended;
  });
  return {
    exec: (...args) => {
      const { status, stdout } = spawnSync(runc, [...state, 'exec', id, ...args], { encoding: 'utf8' });
      return { status, stdout };
    },
    enter: () => {
      const { pid } = JSON.parse(execFileSync(runc, [...state, 'state', id], { encoding: 'utf8' }));
      return ['nsenter', '--target', String(pid), '--net'];
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
  const container = runContainer({ rootfs, command: [...entry, ...command], mounts: [[from, to]] });
  return { ...container, exec: (...args) => container.exec(...entry, ...args) };
};
