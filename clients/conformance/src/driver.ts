import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** An answer: `ok`, or the code of the error; ports where the command opens one. */
export interface Answer {
  readonly id: number;
  readonly ok?: boolean;
  readonly code?: string;
  readonly status?: number;
  readonly server?: number;
}

/** A busy machine starts a JVM slowly. */
const ANSWER_MS = 60_000;

/** A client's program: one command a line on its input, one answer a line on its output. */
export class Driver {
  readonly #program: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #last = 0;
  #said = '';

  constructor([command = '', ...args]: readonly string[]) {
    this.#program = spawn(command, args, { stdio: 'pipe' });
    this.#program.stderr.on('data', (text: Buffer) => {
      this.#said = `${this.#said}${text}`.slice(-2_000);
    });
    this.#program.stdin.on('error', () => {}); // it has ended: its answer is missed
    createInterface({ input: this.#program.stdout }).on('line', (line) => {
      const answer: Answer = JSON.parse(line);
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  ask(command: { readonly do: 'open' | 'dial'; readonly [argument: string]: unknown }): Promise<Answer> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error(`no answer to ${command.do} within ${ANSWER_MS} ms; it said: ${this.#said}`)),
        ANSWER_MS,
      );
      this.#waiting.set(id, (answer) => {
        clearTimeout(late);
        resolve(answer);
      });
      this.#program.stdin.write(`${JSON.stringify({ id, ...command })}\n`);
    });
  }

  end(): void {
    this.#program.kill('SIGKILL');
  }
}
