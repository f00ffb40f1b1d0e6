// Set-up of every tier: each program that a test starts has a time limit, and ends with the test's file at the latest. Nothing that hangs
// keeps a run from ending. Programs that are detached look after themselves: test clusters end with the process that started them.
// Then the file's temporary folders are removed: hooks of a set-up are the last to run.
import childProcess, { ChildProcess } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll } from 'vitest';
import { removeFolders } from '../../test/api-server/src/temporary-folder.ts';

interface Spawning {
  spawn(options: { readonly detached?: boolean }): unknown;
}
type Sync = (command: string, ...more: unknown[]) => unknown;

/** Milliseconds that a program may run: those of a test of its tier. */
const limitMs = (): number => Number(process.env.HANDOVER_PROGRAM_MS);
const isOptions = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The same call with a time limit, unless it has one. */
const limited =
  (call: Sync): Sync =>
  (command, ...more) => {
    const at = more.findIndex(isOptions);
    const options = { timeout: limitMs(), killSignal: 'SIGKILL', ...(more[at] as object | undefined) };
    const args = at === -1 ? more.filter((one) => one !== undefined) : more.slice(0, at);
    return call(command, ...args, options);
  };

/** From now on, programs have a limit. Returns those that run. */
const watchPrograms = (): ReadonlySet<ChildProcess> => {
  const running = new Set<ChildProcess>();
  const prototype = ChildProcess.prototype as unknown as Spawning;
  const spawn = prototype.spawn;
  // Not the exported functions: all of them come down to this method.
  prototype.spawn = function (this: ChildProcess & Spawning, options) {
    const result = spawn.call(this, options);
    if (options.detached === true) return result;
    running.add(this);
    const timer = setTimeout(() => this.kill('SIGKILL'), limitMs()).unref();
    this.once('exit', () => {
      clearTimeout(timer);
      running.delete(this);
    });
    this.once('error', () => running.delete(this));
    return result;
  };
  for (const name of ['spawnSync', 'execFileSync', 'execSync'] as const)
    Object.assign(childProcess, { [name]: limited(childProcess[name] as Sync) });
  syncBuiltinESMExports();
  return running;
};

// Once in a process: a worker may run several files.
const shared = globalThis as { handoverPrograms?: ReadonlySet<ChildProcess> };
shared.handoverPrograms ??= watchPrograms();
const { handoverPrograms: running } = shared;

afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  removeFolders();
});
