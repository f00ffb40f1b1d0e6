import { spawn } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import type { Leaf, ObjectSeen } from '@handover/core';
import { HandoverError, type Instant } from '@handover/material';
import { EngineError } from '../error.ts';
import type { ObjectId, ReloadHooks } from '../look/home.ts';
import type { Told } from '../look/look.ts';
import { type Meters, NO_METERS, type TellResult } from '../look/meters.ts';
import { type Files, replaceFile } from './files.ts';
import { hookProgram } from './hook-program.ts';
import { processIn } from './pid-file.ts';
import type { OwnUser } from './trusted-path.ts';

type Reload = NonNullable<Leaf['spec']['reload']>;

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT = 500;
const LAST_WORDS_MS = 200;

interface Failure {
  readonly result: TellResult;
}

const failed = (what: string, why: string, result: TellResult): HandoverError =>
  new EngineError(
    'RELOAD_FAILED',
    `${what}: ${why}; the new files are in place, and handover tries the reload again`,
    { retry: 'later', cause: { result } satisfies Failure },
  );

const resultOf = (error: unknown): TellResult => {
  if (!(error instanceof HandoverError)) return 'other';
  if (error.code === 'PID_FILE_REFUSED') return 'no_process';
  return error.code === 'RELOAD_FAILED' ? (error.cause as Failure).result : 'other';
};

/** Runs argv without a shell: nothing in it is interpreted. */
const runCommand = async (
  { files, cwd, uid }: ReloadOptions,
  [program = '', ...args]: readonly string[],
): Promise<void> => {
  const file = hookProgram(files, program, cwd, uid);
  if (file === undefined) throw failed(program, 'not found, or not executable', 'cannot_run');
  await new Promise<void>((resolve, reject) => {
    const child = spawn(file, args, {
      cwd,
      argv0: program,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      if (errors.length < MAX_OUTPUT) errors += chunk.toString('utf8');
    });
    child.on('error', (error: NodeJS.ErrnoException) =>
      reject(failed(program, error.code ?? 'cannot be run', 'cannot_run')),
    );
    child.on('exit', (code, signal) => {
      if (code === 0) resolve();
      else {
        const end = (): void => reject(failed(program, `ended with ${code ?? signal}${said()}`, 'exit_code'));
        child.once('close', end);
        // A process that the command left running may hold stderr open for ever.
        setTimeout(end, LAST_WORDS_MS);
      }
      (child.stderr as Socket).unref();
    });
    const said = (): string => {
      const last = errors.trim().split('\n').at(-1)?.slice(0, MAX_OUTPUT) ?? '';
      return last === '' ? '' : `, stderr: "${last}"`;
    };
  });
};

const sendSignal = (
  { files, cwd, uid }: ReloadOptions,
  { pidFile, signal }: NonNullable<Reload['signal']>,
): void => {
  const pid = processIn(files, resolve(cwd, pidFile), uid);
  try {
    process.kill(pid, signal);
  } catch (error) {
    const { code = 'cannot be signalled' } = error as NodeJS.ErrnoException;
    throw failed(`process ${pid}`, code, 'no_process');
  }
};

const post = (url: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const ask = (url.startsWith('https:') ? httpsRequest : httpRequest)(
      url,
      { method: 'POST', agent: false, signal: AbortSignal.timeout(5_000) },
      (response) => {
        response.resume();
        const code = response.statusCode ?? 0;
        if (code >= 200 && code < 300) resolve();
        else reject(failed(url, `answered with status ${code}`, 'refused'));
      },
    );
    ask
      .on('error', (error: NodeJS.ErrnoException) =>
        reject(failed(url, error.code ?? error.name, 'unreachable')),
      )
      .end();
  });

export interface ReloadOptions {
  readonly files: Files;
  /** Where it keeps what each program was told. */
  readonly root: string;
  /** Working directory of commands; relative paths start here. */
  readonly cwd: string;
  readonly now: () => Instant;
  readonly meters?: Meters;
  readonly uid: OwnUser;
}

/** Tells programs that their files changed, and records what each was told and when. */
export class DirectoryReloads implements ReloadHooks {
  readonly #options: ReloadOptions;
  readonly #meters: Meters;

  constructor(options: ReloadOptions) {
    this.#options = options;
    this.#meters = options.meters ?? NO_METERS;
  }

  #name(id: ObjectId): string {
    return `${id.replaceAll('/', '_')}.json`;
  }

  async told(id: ObjectId): Promise<Told | undefined> {
    const bytes = this.#options.files.read(`${this.#options.root}/${this.#name(id)}`);
    if (bytes === undefined) return undefined;
    try {
      const value = JSON.parse(Buffer.from(bytes).toString('utf8')) as Told;
      return typeof value?.version === 'string' && Array.isArray(value.anchors) ? value : undefined;
    } catch {
      return undefined; // tell it again
    }
  }

  async tell(id: ObjectId, leaf: Leaf, seen: ObjectSeen): Promise<void> {
    const { reload } = leaf.spec;
    if (reload === undefined) return;
    const how = reload.command !== undefined ? 'command' : reload.signal !== undefined ? 'signal' : 'http';
    try {
      await this.#tellBy(reload);
      this.#meters.told(how, 'done');
    } catch (error) {
      this.#meters.told(how, resultOf(error));
      throw error;
    }
    const before = await this.told(id);
    const now = this.#options.now();
    const issuer = seen.leaf?.issuer;
    const told: Told = {
      version: seen.version,
      anchors: seen.anchors.map(({ fingerprint }) => ({
        fingerprint,
        since: before?.anchors.find((anchor) => anchor.fingerprint === fingerprint)?.since ?? now,
      })),
      issuer:
        issuer === undefined
          ? undefined
          : {
              fingerprint: issuer,
              since: before?.issuer?.fingerprint === issuer ? before.issuer.since : now,
            },
    };
    await this.#options.files.makeDirectory(this.#options.root, 0o700);
    await replaceFile(
      this.#options.files,
      this.#options.root,
      this.#name(id),
      `${JSON.stringify(told)}\n`,
      0o600,
    );
  }

  async #tellBy({ command, signal, http }: Reload): Promise<void> {
    if (command !== undefined) await runCommand(this.#options, command);
    else if (signal !== undefined) sendSignal(this.#options, signal);
    else if (http !== undefined) await post(http.url);
  }
}
