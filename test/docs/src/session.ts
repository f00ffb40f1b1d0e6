import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from './commands.ts';

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const TICK_MS = 100;
const PATIENCE_MS = 240_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** One shell for one document: later blocks see the variables of earlier ones. */
export class Session {
  readonly #shell: ChildProcess;
  /** For outputs and markers; separate from the document's files. */
  readonly #scratch: string;
  readonly #running: { readonly group: number; readonly what: string; readonly log: string }[] = [];
  #count = 0;
  #ended: number | null | undefined;

  constructor(folder: string, scratch: string, env: NodeJS.ProcessEnv) {
    this.#scratch = scratch;
    this.#shell = spawn('bash', ['--norc', '--noprofile'], {
      cwd: folder,
      env,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell.on('exit', (code) => {
      this.#ended = code;
    });
    this.#send('set -o pipefail');
    // It ends when its input closes, even if this process was killed: then nothing may keep running.
    this.#send('groups=; trap \'for group in $groups; do kill -TERM -- "-$group"; done\' EXIT');
  }

  #send(text: string): void {
    this.#shell.stdin?.write(`${text}\n`);
  }

  #file(name: string): string {
    return join(this.#scratch, `${this.#count}-${name}`);
  }

  async #mark(file: string, what: string): Promise<string> {
    for (let waited = 0; waited < PATIENCE_MS; waited += TICK_MS) {
      const said = read(file);
      if (said.endsWith('\n')) return said.trim();
      if (this.#ended !== undefined) throw new Error(`the shell ended with ${this.#ended} at: ${what}`);
      await pause(TICK_MS);
    }
    throw new Error(`did not end: ${what}\n${read(this.#file('stdout'))}${read(this.#file('stderr'))}`);
  }

  async run({ text }: Step): Promise<Outcome> {
    this.#count++;
    const [out, err, mark] = ['stdout', 'stderr', 'mark'].map((name) => this.#file(name));
    this.#send(`{\n${text}\n} </dev/null >'${out}' 2>'${err}'\necho $? >'${mark}'`);
    const code = Number(await this.#mark(mark ?? '', text));
    return { code, stdout: read(out ?? ''), stderr: read(err ?? '') };
  }

  /** Starts a long-running command, and waits until its output says that it is ready. */
  async start({ text }: Step, ready: RegExp): Promise<void> {
    this.#count++;
    const [log, mark] = ['log', 'mark'].map((name) => this.#file(name)) as [string, string];
    const script = this.#file('script');
    writeFileSync(script, `${text}\n`);
    // A separate session, so that it can be ended together with its children.
    this.#send(
      `setsid bash '${script}' </dev/null >'${log}' 2>&1 &\ngroups="$groups $!"; echo $! >'${mark}'`,
    );
    const group = Number(await this.#mark(mark, text));
    this.#running.push({ group, what: text, log });
    for (let waited = 0; waited < PATIENCE_MS; waited += TICK_MS) {
      if (ready.test(read(log))) return;
      // Right after its start it has not created its own group yet.
      if (!isAlive(group) && !exists(group))
        throw new Error(`the command ended before it was ready: ${text}\n${read(log)}`);
      await pause(TICK_MS);
    }
    throw new Error(`the command never printed ${ready}: ${text}\n${read(log)}`);
  }

  /** The shell's working directory. */
  async folder(): Promise<string> {
    return (await this.run({ text: 'pwd', line: 0, exitCode: 0 })).stdout.trim();
  }

  /** The output of background programs, to explain a failure. */
  logs(): string {
    return this.#running.map(({ what, log }) => `--- ${what}\n${read(log).slice(-4_000)}`).join('\n');
  }

  /** Ends all running programs, the last one first. */
  async end(): Promise<void> {
    for (const { group } of this.#running.splice(0).reverse()) {
      signal(group, 'SIGTERM');
      for (let waited = 0; isAlive(group) && waited < 20_000; waited += TICK_MS) await pause(TICK_MS);
      if (isAlive(group)) signal(group, 'SIGKILL');
    }
    if (this.#ended !== undefined) return;
    this.#shell.stdin?.end('exit 0\n');
    await once(this.#shell, 'exit');
  }
}

/** Ends the whole session of a command that was started here. */
const signal = (group: number, name: NodeJS.Signals): void => {
  try {
    process.kill(-group, name);
  } catch {
    // it has ended
  }
};

const exists = (id: number): boolean => {
  try {
    process.kill(id, 0);
    return true;
  } catch {
    return false;
  }
};
const isAlive = (group: number): boolean => exists(-group);

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};
