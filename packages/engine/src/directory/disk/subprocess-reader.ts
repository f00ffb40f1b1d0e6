import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Clock, HandoverError } from '@handover/material';
import { EngineError } from '../../error.ts';
import { isTimeout } from '../../evidence/fetch-text.ts';
import { FairSemaphore } from '../../scheduling/fair-semaphore.ts';
import type { PathQuery, PathSnapshot } from './path-snapshot.ts';
import { type Answer, deserializeError, type Question } from './reader-messages.ts';
import type { PathReader } from './trusted-path.ts';
import { ANSWER_MS, IN_LINE_MS, inProcessFiles, type UntrustedFiles, unread } from './untrusted-files.ts';

/** Readers at once, and those of one share: what does not answer holds one of them for two seconds. */
const PLACES = { inAll: 4, each: 1 } as const;
/** The share of everything that did not answer the last time; it is asked again after a while, and fails at once until then. */
const SLOW = 'slow';
const AGAIN_MS = 10_000;
/** Readers that even SIGKILL does not end, because the kernel waits for the file system: beyond them nothing is asked. */
const MOST_STUCK = 8;
/** A socket has its own 2 s; the rest is for its path. */
const DOCUMENT_MS = 3_000;
const START_MS = 30_000;
const IDLE_MS = 60_000;

const READER = new URL('./file-reader.js', import.meta.url);

/** A process that reads for us. The kernel may block it: then it is killed, and this process goes on. */
class Reader {
  readonly #child: ChildProcess;
  readonly #ready: Promise<unknown>;
  readonly ended: Promise<void>;
  #idle: NodeJS.Timeout | undefined;
  #giveUp = (): void => {};

  constructor(child: ChildProcess) {
    this.#child = child;
    this.ended = new Promise((resolve) => {
      child.once('exit', () => resolve()).once('error', () => resolve());
    });
    this.#ready = this.#message(START_MS);
    this.#ready.catch(() => {});
  }

  /** Its answer; undefined: none came in time. */
  async ask(asked: Question, withinMs: number): Promise<Answer | undefined> {
    clearTimeout(this.#idle);
    if ((await this.#ready) === undefined) throw cannotRead('it has not started');
    const answer = this.#message(withinMs);
    this.#child.send(asked, () => {}); // a reader that has ended is told by `ended`
    return answer as Promise<Answer | undefined>;
  }

  #message(withinMs: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        this.#child.off('message', heard).off('exit', gone).off('error', gone);
        settle();
      };
      const heard = (message: unknown): void => end(() => resolve(message));
      const gone = (): void => end(() => reject(cannotRead('it has ended')));
      this.#giveUp = () => end(() => resolve(undefined));
      const timer = setTimeout(this.#giveUp, withinMs);
      this.#child.once('message', heard).once('exit', gone).once('error', gone);
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) gone();
    });
  }

  rest(onIdle: () => void): void {
    this.#idle = setTimeout(onIdle, IDLE_MS).unref();
  }

  kill(): void {
    clearTimeout(this.#idle);
    this.#giveUp();
    this.#child.kill('SIGKILL');
  }
}

const cannotRead = (why: string): HandoverError =>
  new EngineError(
    'FILE_NO_ANSWER',
    `the process that reads files of other programs cannot be asked: ${why}`,
    {
      retry: 'later',
    },
  );

/** Reads in processes of their own, each file within its deadline. */
export class SubprocessReader implements UntrustedFiles {
  readonly #module: URL;
  readonly #semaphore = new FairSemaphore(PLACES);
  readonly #readers = new Set<Reader>();
  readonly #idle: Reader[] = [];
  readonly #asked = new Map<string, Promise<Answer>>();
  /** Paths that did not answer, what is said of them, and when they are asked again. */
  readonly #slow = new Map<string, { readonly until: number; readonly error: Error }>();
  /** Paths at which a reader is stuck. */
  readonly #stuck = new Set<string>();
  #stopped = false;
  readonly stop = (): void => {
    this.#stopped = true;
    for (const reader of this.#readers) reader.kill();
  };

  constructor(module: URL = READER) {
    this.#module = module;
  }

  async look(look: PathQuery, share: string): Promise<PathSnapshot> {
    const answer = await this.#once({ look }, look.path, share, ANSWER_MS);
    if (!('seen' in answer)) throw new TypeError('a reader answered another question');
    const { seen, trouble } = answer;
    return trouble === undefined ? seen : { ...seen, trouble: deserializeError(trouble) as HandoverError };
  }

  async document(socket: string, share: string): Promise<string> {
    const answer = await this.#once({ document: socket }, socket, share, DOCUMENT_MS);
    if (!('document' in answer)) throw new TypeError('a reader answered another question');
    return answer.document;
  }

  /** The same question at the same time is one. */
  #once(asked: Question, path: string, share: string, withinMs: number): Promise<Answer> {
    const key = JSON.stringify(asked);
    const before = this.#asked.get(key);
    if (before !== undefined) return before;
    const answer = this.#inTurn(asked, path, share, withinMs).finally(() => this.#asked.delete(key));
    this.#asked.set(key, answer);
    return answer;
  }

  async #inTurn(asked: Question, path: string, share: string, withinMs: number): Promise<Answer> {
    const began = performance.now();
    const before = this.#slow.get(path);
    if (before !== undefined && began < before.until) throw before.error;
    // What answered last time never waits behind what did not.
    const answer = await this.#semaphore.take(before === undefined ? share : SLOW, async () =>
      performance.now() - began > IN_LINE_MS ? 'unasked' : this.#ask(asked, path, withinMs),
    );
    if (this.#stopped) throw cannotRead('handover is ending');
    if (answer === 'unasked') throw unread(path, 'unasked');
    if (answer === undefined) throw unread(path, 'noAnswer');
    if ('failed' in answer) throw deserializeError(answer.failed);
    return answer;
  }

  async #ask(asked: Question, path: string, withinMs: number): Promise<Answer | undefined> {
    if (this.#stopped || this.#stuck.has(path) || this.#stuck.size >= MOST_STUCK) return undefined;
    const reader = this.#idle.pop() ?? this.#start();
    let answer: Answer | undefined;
    try {
      answer = await reader.ask(asked, withinMs);
    } catch (error) {
      reader.kill();
      if (this.#stopped) return undefined;
      throw error;
    }
    if (answer !== undefined) {
      // A socket that accepts and says nothing ends in an error after its time, and its reader goes on.
      if ('failed' in answer && isTimeout(answer.failed))
        this.#slow.set(path, { until: performance.now() + AGAIN_MS, error: deserializeError(answer.failed) });
      else this.#slow.delete(path);
      this.#idle.push(reader);
      reader.rest(() => {
        this.#idle.splice(this.#idle.indexOf(reader), 1);
        reader.kill();
      });
      return answer;
    }
    this.#slow.set(path, { until: performance.now() + AGAIN_MS, error: unread(path, 'noAnswer') });
    this.#stuck.add(path);
    void reader.ended.then(() => this.#stuck.delete(path));
    reader.kill();
    return undefined;
  }

  #start(): Reader {
    if (this.#readers.size === 0) process.on('exit', this.stop);
    const child = fork(fileURLToPath(this.#module), [], {
      cwd: '/',
      env: { ...process.env, NODE_OPTIONS: '' },
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    // It keeps nothing running: a question is awaited by its deadline.
    child.unref();
    child.channel?.unref();
    const reader = new Reader(child);
    this.#readers.add(reader);
    void reader.ended.then(() => {
      this.#readers.delete(reader);
      const at = this.#idle.indexOf(reader);
      if (at >= 0) this.#idle.splice(at, 1);
      if (this.#readers.size === 0) process.off('exit', this.stop);
    });
    return reader;
  }
}

/** Tests run from source, which a plain process cannot load. */
export const untrustedFiles = (files: PathReader, clock: Clock): UntrustedFiles =>
  import.meta.url.endsWith('.ts') ? inProcessFiles(clock, files) : new SubprocessReader();
