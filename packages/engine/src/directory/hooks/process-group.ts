import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { inWords } from '../../snapshot/system-errors.ts';

export interface ProgramRun {
  /** The file that is started. */
  readonly file: string;
  /** Its name for people, and argv[0]. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Most bytes of its standard output that are read, and more end it; undefined: none are read. */
  readonly output?: number;
  /** Ends it, with its children. */
  readonly signal: AbortSignal;
}

export interface ProgramEnd {
  readonly how: 'exited' | 'timed-out' | 'stopped' | 'not-started';
  readonly code: number | null;
  /** What killed it, or why it could not be started. */
  readonly cause: string | undefined;
  /** The first lines that it wrote to stderr, and the last: "no such site / see above / … / reload failed". */
  readonly said: string;
  /** Its standard output, as far as it was read: at most one byte more than `output`. */
  readonly printed: Buffer;
}

/** Kept of stderr, from its beginning and from its end. */
const MOST_OUTPUT = 8_192;
const FIRST_LINES = 3;
const MOST_LINE = 200;

/** First lines name the cause, and the last one the result; what stands between PEM markers is left out. */
export const firstAndLast = (head: string, tail: string): string => {
  const lines: string[] = [];
  let isPem = false;
  for (const raw of `${head}${tail}`.split('\n')) {
    const line = raw.trim();
    const began = isPem;
    if (line.includes('-----BEGIN')) isPem = true;
    if (isPem && !began) lines.push('[…]');
    if (!isPem && line !== '') lines.push(line.slice(0, MOST_LINE));
    if (line.includes('-----END')) isPem = false;
  }
  const last = lines.at(-1);
  if (lines.length <= FIRST_LINES + 1 || last === undefined) return lines.join(' / ');
  return [...lines.slice(0, FIRST_LINES), '…', last].join(' / ');
};
/** After its end a program's last words are on their way; a child of it may hold stderr open for ever. */
const LAST_WORDS_MS = 200;
/** Between asking a group to end and killing it. */
const KILL_AFTER_MS = 1_500;

const killGroup = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(-pid, signal);
  } catch {
    // it has ended
  }
};

/** Programs in process groups of their own, which end with this process. */
export class ProcessGroups {
  readonly #pids = new Set<number>();
  readonly #killAll = (): void => {
    for (const pid of this.#pids) killGroup(pid, 'SIGKILL');
  };

  #add(pid: number): void {
    if (this.#pids.size === 0) process.on('exit', this.#killAll);
    this.#pids.add(pid);
  }

  #delete(pid: number): void {
    this.#pids.delete(pid);
    if (this.#pids.size === 0) process.off('exit', this.#killAll);
  }

  /** Runs a program without a shell: nothing in its arguments is interpreted. Never throws. */
  run({ file, program, args, cwd, env, timeoutMs, output: most, signal }: ProgramRun): Promise<ProgramEnd> {
    return new Promise((resolve) => {
      const child = spawn(file, args, {
        cwd,
        env,
        argv0: program,
        stdio: ['ignore', most === undefined ? 'ignore' : 'pipe', 'pipe'],
        detached: true,
      });
      const { pid } = child;
      let how: ProgramEnd['how'] = 'exited';
      let head = '';
      let tail = '';
      let printed: Buffer = Buffer.alloc(0);
      const timers: NodeJS.Timeout[] = [];
      const stop = (): void => {
        if (how !== 'exited' || pid === undefined) return;
        how = 'stopped';
        killGroup(pid, 'SIGTERM');
        timers.push(setTimeout(() => killGroup(pid, 'SIGKILL'), KILL_AFTER_MS));
      };
      const end = (code: number | null, cause: string | undefined): void => {
        for (const timer of timers) clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        resolve({ how, code, cause, said: firstAndLast(head, tail), printed });
      };
      child.stdout?.on('data', (chunk: Buffer) => {
        if (printed.length > (most ?? 0)) return;
        printed = Buffer.concat([printed, chunk]).subarray(0, (most ?? 0) + 1);
        if (printed.length > (most ?? 0) && pid !== undefined) killGroup(pid, 'SIGKILL');
      });
      child.stderr?.on('data', (chunk: Buffer) => {
        const text = chunk.toString('utf8');
        const room = MOST_OUTPUT - head.length;
        head += text.slice(0, room);
        tail = (tail + text.slice(Math.max(room, 0))).slice(-MOST_OUTPUT);
      });
      child.once('error', (error: NodeJS.ErrnoException) => {
        how = 'not-started';
        end(null, inWords(error));
      });
      child.once('exit', (code, cause) => {
        if (pid === undefined) return;
        // Its children go on where it has ended by itself: it may have started a daemon.
        if (how !== 'exited') killGroup(pid, 'SIGKILL');
        this.#delete(pid);
        const last = (): void => end(code, cause ?? undefined);
        (child.stderr as Socket | null)?.unref();
        (child.stdout as Socket | null)?.unref();
        if (code === 0 && most === undefined) last();
        else {
          child.once('close', last);
          timers.push(setTimeout(last, LAST_WORDS_MS));
        }
      });
      if (pid === undefined) return;
      this.#add(pid);
      timers.push(
        setTimeout(() => {
          if (how !== 'exited') return;
          how = 'timed-out';
          killGroup(pid, 'SIGKILL');
        }, timeoutMs),
      );
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
    });
  }
}
