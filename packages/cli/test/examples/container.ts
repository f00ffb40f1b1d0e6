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
  /** Runs `handover` with these arguments beside it, in the same container. */
  exec(...args: readonly string[]): { readonly status: number | null; readonly stdout: string };
  /** Sends SIGTERM, as `docker stop` does; its exit code. */
  stop(): Promise<number>;
}

/** A container of the image, as root, with one directory mounted. */
export const runImage = (command: readonly string[], from: string, to: string): Container => {
  const { rootfs, entry } = image();
  const bundle = directory();
  const runc = program('runc');
  execFileSync(runc, ['spec'], { cwd: bundle });
  const file = join(bundle, 'config.json');
  const spec = JSON.parse(readFileSync(file, 'utf8'));
  spec.root = { path: rootfs, readonly: true };
  spec.process.terminal = false;
  spec.process.args = [...entry, ...command];
  for (const kind of ['bounding', 'effective', 'permitted']) spec.process.capabilities[kind] = CAPABILITIES;
  spec.mounts.push({ destination: to, type: 'bind', source: from, options: ['rbind', 'rw'] });
  writeFileSync(file, JSON.stringify(spec));
  const id = `handover-compose-${process.pid}`;
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
      const { status, stdout } = spawnSync(runc, [...state, 'exec', id, ...entry, ...args], {
        encoding: 'utf8',
      });
      return { status, stdout };
    },
    stop: async () => {
      execFileSync(runc, [...state, 'kill', id, 'TERM']);
      const [code] = await ended;
      return code;
    },
  };
};
