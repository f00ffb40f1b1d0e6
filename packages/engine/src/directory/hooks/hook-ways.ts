import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { resolve } from 'node:path';
import { type Clock, HandoverError } from '@handover/material';
import { isCode } from '../../error.ts';
import { type Hook, restarts } from '../../snapshot/hooks.ts';
import type { TellResult } from '../../snapshot/meters.ts';
import { inWords, urlInWords } from '../../snapshot/system-errors.ts';
import type { FileReader } from '../disk/files.ts';
import type { OwnUser } from '../disk/trusted-path.ts';
import type { UntrustedFiles } from '../disk/untrusted-files.ts';
import { hookProgram } from './hook-program.ts';
import { processIn } from './pid-file.ts';
import type { ProcessGroups } from './process-group.ts';

/** What a hook inherits. No more: the environment of a service may hold passwords, or a socket that speaks for the service. */
const INHERITED = [
  'DBUS_SESSION_BUS_ADDRESS',
  'HOME',
  'LANG',
  'LC_ALL',
  'LOGNAME',
  'TMPDIR',
  'TZ',
  'USER',
  'XDG_RUNTIME_DIR',
] as const;

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The environment of a hook: a few variables of ours, and what it is about. */
export const hookEnvironment = (
  facts: Readonly<Record<string, string>>,
  own: NodeJS.ProcessEnv = process.env,
): Readonly<Record<string, string>> => ({
  PATH: own.PATH ?? PATH,
  ...Object.fromEntries(
    INHERITED.flatMap((name) => {
      const value = own[name];
      return value === undefined ? [] : [[name, value]];
    }),
  ),
  ...facts,
});

export interface HookTimes {
  /** How long a command may take. Default: 30 s. */
  readonly reloadMs?: number;
  /** How long a restart may take; systemd itself waits 90 s for a unit to start. Default: 2 min. */
  readonly restartMs?: number;
}

const HTTP_MS = 5_000;
const RELOAD_MS = 30_000;
const RESTART_MS = 120_000;
const MOST_MESSAGE = 1_200;
/** Our own reasons end with the remedy, behind paths that may be long. */
const MOST_REASON = 2_000;

/** What hooks need of the machine. */
export interface HookTools {
  /** A request's deadline goes by it; that of a command is real time, as the command's own. */
  readonly clock: Clock;
  readonly files: FileReader;
  readonly far: UntrustedFiles;
  /** Working directory of commands; relative paths start here. */
  readonly cwd: string;
  readonly uid: OwnUser;
  readonly groups: ProcessGroups;
  readonly times?: HookTimes | undefined;
}

export interface HookEnd {
  readonly result: TellResult | 'stopped';
  readonly exitCode?: number | undefined;
  readonly message?: string | undefined;
}

/** A line of PEM has 64 characters of base64, and few other words that begin with a slash do. */
const isPath = (word: string): boolean =>
  word.startsWith('/') &&
  !/[+=]/.test(word) &&
  !/^[A-Za-z0-9/]{64}$/.test(word) &&
  word.split('/').every(({ length }) => length < 40);

/** A line of PEM has 64 characters of base64; a fingerprint has no letter after f. */
const withoutKeys = (word: string): string =>
  word.replaceAll(/[A-Za-z0-9+/=]{40,}/g, (run) => (/^[0-9a-fA-F]+$/.test(run) ? run : '[…]'));

/** A key may be printed in groups: three or more of base64 in a row, with digits and letters of both cases. */
const GROUPS = /(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/=]{16,} +){2,}[A-Za-z0-9+/=]{16,}/g;
/** As openssl prints the numbers of a key; it writes fingerprints in capitals. */
const KEY_BYTES = /(?<![0-9a-f])(?:[0-9a-f]{2}:[\s/]*){7,}(?:[0-9a-f]{2})?(?![0-9a-f])/g;
const withoutGroups = (run: string): string => {
  const isPlain = run.split(/ +/).every((word) => /^[0-9a-fA-F]+$/.test(word) || isPath(word));
  return !isPlain && [/[0-9]/, /[a-z]/, /[A-Z]/].every((one) => one.test(run)) ? '[…]' : run;
};

/** One line for people: what a program wrote may hold anything. */
export const said = (text: string, most = MOST_MESSAGE): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not get through
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+/g, ' ')
    .replaceAll(GROUPS, withoutGroups)
    .replaceAll(KEY_BYTES, '[…]')
    .replaceAll(/[\w.+/=-]{40,}/g, (word) => (isPath(word) ? word : withoutKeys(word)))
    .replaceAll(/ {2,}/g, ' ')
    .trim()
    .slice(0, most);

const run = async (
  { files, cwd, uid, groups, times = {} }: HookTools,
  [program = '', ...args]: readonly string[],
  isRestart: boolean,
  facts: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<HookEnd> => {
  const file = hookProgram(files, program, cwd, uid);
  if (file === undefined)
    return { result: 'cannot_run', message: `${program}: not found, or not executable` };
  const timeoutMs = isRestart ? (times.restartMs ?? RESTART_MS) : (times.reloadMs ?? RELOAD_MS);
  const env = hookEnvironment(facts);
  const {
    how,
    code,
    cause,
    said: last,
  } = await groups.run({ file, program, args, cwd, env, timeoutMs, signal });
  const words = last === '' ? '' : `, stderr: "${last}"`;
  switch (how) {
    case 'exited':
      return code === 0
        ? { result: 'done', exitCode: 0 }
        : {
            result: 'exit_code',
            exitCode: code ?? undefined,
            message: `${program} ended with ${code ?? cause}${words}`,
          };
    case 'timed-out':
      return {
        result: 'timeout',
        message: `${program} did not end within ${timeoutMs / 1_000} s; it and its children were stopped${words}`,
      };
    case 'stopped':
      return { result: 'stopped' };
    case 'not-started':
      return { result: 'cannot_run', message: `${program} cannot be started: ${cause}` };
    default:
      return how satisfies never;
  }
};

const send = async (
  { far, cwd, uid }: HookTools,
  pidFile: string,
  signal: NodeJS.Signals,
): Promise<HookEnd> => {
  const pid = await processIn(far, resolve(cwd, pidFile), uid);
  try {
    process.kill(pid, signal);
    return { result: 'done' };
  } catch (error) {
    return { result: 'no_process', message: `process ${pid} cannot be signalled: ${inWords(error)}` };
  }
};

const post = (clock: Clock, url: string, stop: AbortSignal): Promise<HookEnd> =>
  new Promise((answer) => {
    const signal = AbortSignal.any([clock.timeout(HTTP_MS), stop]);
    const ask = (url.startsWith('https:') ? httpsRequest : httpRequest)(
      url,
      { method: 'POST', agent: false, signal },
      (response) => {
        response.resume();
        const status = response.statusCode ?? 0;
        const isGood = status >= 200 && status < 300;
        answer(
          isGood
            ? { result: 'done' }
            : { result: 'refused', message: `${urlInWords(url)} answered with status ${status}` },
        );
      },
    );
    const unanswered = (why: string): void =>
      answer({ result: 'unreachable', message: `${urlInWords(url)}: ${why}` });
    ask
      .on('upgrade', (_, socket) => {
        socket.destroy();
        answer({ result: 'refused', message: `${urlInWords(url)} answered with status 101` });
      })
      .on('close', () => unanswered('the connection ended without an answer'))
      .on('error', (error: NodeJS.ErrnoException) => {
        const why = signal.aborted ? `no answer within ${HTTP_MS / 1_000} s` : inWords(error);
        if (stop.aborted) answer({ result: 'stopped' });
        else unanswered(why);
      })
      .end();
  });

/** Tells the program of a hook. A failure is an answer, not an error. */
export async function runHook(
  tools: HookTools,
  hook: Hook,
  facts: Readonly<Record<string, string>>,
  stop: AbortSignal,
): Promise<HookEnd> {
  const { command, signal, http, systemd, restart } = hook.reload;
  try {
    if (signal !== undefined) return await send(tools, signal.pidFile, signal.signal);
    if (http !== undefined) return await post(tools.clock, http.url, stop);
    const argv =
      systemd === undefined
        ? (command ?? restart?.command ?? [])
        : ['systemctl', systemd.action, '--', systemd.unit];
    const end = await run(tools, argv, restarts(hook), facts, stop);
    return end.message === undefined ? end : { ...end, message: said(end.message) };
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    const result = isCode(error, 'PID_FILE_REFUSED') ? 'no_process' : 'other';
    return { result, message: said(error.message, MOST_REASON) };
  }
}
