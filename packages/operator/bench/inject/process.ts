import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { NODE_OPTIONS } from '@handover/install';

/** USER_HZ of every Linux that Node runs on: proc(5). */
const TICKS = 100;

/** Processor time of a process so far, in seconds. */
export const cpuOf = (pid: number | undefined): number => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
};

/** A contender as the kernel sees it. */
export class Watched {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  exited = false;

  constructor([command, ...args]: readonly [string, ...string[]], log: string) {
    const file = openSync(log, 'a');
    // As the installation starts it; programs other than Node ignore it.
    const env = { ...process.env, NODE_OPTIONS };
    this.#child = spawn(command, args, { stdio: ['ignore', file, file], env });
    closeSync(file);
    process.once('exit', () => this.#child.kill('SIGKILL'));
    this.#ended = new Promise((resolve) => {
      this.#child.on('close', (code) => {
        this.exited = true;
        resolve(code);
      });
    });
  }

  #status(field: string): number {
    const text = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? Number.NaN) * 1024;
  }

  get rss(): number {
    return this.#status('VmRSS');
  }

  get peak(): number {
    return this.#status('VmHWM');
  }

  get cpu(): number {
    return cpuOf(this.#child.pid);
  }

  async stop(): Promise<void> {
    if (!this.exited) this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000);
    await this.#ended;
    clearTimeout(timer);
  }
}
