import { ChildProcess } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { systemClock } from '../clock.ts';
import { RuntimeError } from '../error.ts';
import { openIdentity } from '../identity.ts';
import { refuseOn } from '../only-node.ts';
import { withDefaultTrust } from '../status/default-trust.ts';
import { joinProgram } from '../status/program.ts';
import type { StatusOptions } from '../status/server.ts';
import { shownOf } from '../status/status.ts';
import { openTlsProfile } from '../tls-profile.ts';
import { openTrust } from '../trust.ts';
import { FollowedMaterial } from './material.ts';
import { patchTls } from './patch.ts';
import { reportThread, Threads } from './threads.ts';

/** The environment variables of `@handover/runtime/register`. */
export interface Settings {
  readonly ca: string | undefined;
  /** True: the public roots are not trusted. */
  readonly caOnly: boolean;
  readonly identity: { readonly cert: string; readonly key: string } | undefined;
  readonly profile: string | undefined;
  readonly status: Pick<StatusOptions, 'port' | 'socket' | 'file' | 'podUid'> | undefined;
}

const refused = (message: string) => new RuntimeError('OPTION_INVALID', message);

/** `8081`, `unix:/run/app/status.sock`, or the path of a file. */
function statusOf(text: string): Pick<StatusOptions, 'port' | 'socket' | 'file'> {
  if (/^\d+$/.test(text)) return { port: Number(text) };
  if (text.startsWith('unix:/')) return { socket: text.slice('unix:'.length) };
  if (text.startsWith('/')) return { file: text };
  throw refused(`HANDOVER_STATUS must be a port, unix:/path or /path, got ${text}`);
}

/** Undefined when the environment names no file: the program then runs as it would without us. */
function settingsFrom(env: Readonly<Record<string, string | undefined>>): Settings | undefined {
  const read = (name: string) => env[`HANDOVER_${name}`] || undefined;
  const [ca, cert, key] = [read('CA'), read('CERT'), read('KEY')];
  const [profile, status, only] = [read('PROFILE'), read('STATUS'), read('CA_ONLY')];
  if (cert !== undefined && key === undefined)
    throw refused('HANDOVER_CERT is set without HANDOVER_KEY; set both');
  if (key !== undefined && cert === undefined)
    throw refused('HANDOVER_KEY is set without HANDOVER_CERT; set both');
  if (only !== undefined && only !== 'true') throw refused(`HANDOVER_CA_ONLY must be true, got ${only}`);
  if (only !== undefined && ca === undefined)
    throw refused('HANDOVER_CA_ONLY is set without HANDOVER_CA; set both');
  if (ca === undefined && cert === undefined && profile === undefined) {
    if (status === undefined) return undefined;
    throw refused(
      'HANDOVER_STATUS is set, and no file to show: set HANDOVER_CA, or HANDOVER_CERT and HANDOVER_KEY',
    );
  }
  const podUid = env.POD_UID;
  return {
    ca,
    caOnly: only !== undefined,
    identity: cert === undefined || key === undefined ? undefined : { cert, key },
    profile,
    status:
      status === undefined ? undefined : { ...statusOf(status), ...(podUid === undefined ? {} : { podUid }) },
  };
}

/** What `spawn`, `exec` and `fork` hand to a new process. Node does not declare it. */
interface SpawnOptions {
  readonly envPairs?: readonly string[];
}
interface Spawning {
  spawn(options: SpawnOptions): unknown;
}

const NAME = '@handover/runtime/register';
const FOLLOWS = /^HANDOVER_(?:CA|CERT|PROFILE)=./;
const OPTIONS = 'NODE_OPTIONS=';

/** The values of `--import`, as one argument or two. */
const importsIn = (args: readonly string[]): readonly string[] =>
  args.flatMap((arg, index) => {
    if (arg.startsWith('--import=')) return [arg.slice('--import='.length)];
    return args[index - 1] === '--import' ? [arg] : [];
  });

const urlOf = (place: string): string | undefined => {
  try {
    const path = place.startsWith('file:') ? fileURLToPath(place) : resolve(place);
    return pathToFileURL(realpathSync(path)).href;
  } catch {
    return undefined; // a name of another package
  }
};

/**
 * Whether `url` is a module to import before a program, and not a program that has this module in it (a bundle): that one must not run
 * again in each child.
 */
export const isPreload = (url: string, execArgv: readonly string[]): boolean =>
  url.endsWith(`/${NAME.replace('register', 'dist/register.js')}`) ||
  importsIn(execArgv).some((place) => place === NAME || urlOf(place) === url);

const withRegister = (options: SpawnOptions, flag: string): SpawnOptions => {
  const { envPairs } = options;
  if (!Array.isArray(envPairs) || !envPairs.some((pair) => FOLLOWS.test(pair))) return options;
  const own = envPairs.find((pair) => pair.startsWith(OPTIONS)) ?? OPTIONS;
  if (own.slice(OPTIONS.length).split(' ').includes(flag)) return options;
  const all = `${own}${own === OPTIONS ? '' : ' '}${flag}`;
  return { ...options, envPairs: [...envPairs.filter((pair) => pair !== own), all] };
};

/**
 * Makes Node programs that this one starts, with the variables that it has itself, follow the files too: `node --import` alone does not reach
 * them. Not those of `spawnSync` and its kin, for which this process waits: it could not take them into its status.
 */
function passOn(url: string): void {
  const prototype = ChildProcess.prototype as unknown as Spawning;
  const { spawn } = prototype;
  prototype.spawn = function (this: Spawning, options) {
    return spawn.call(this, withRegister(options, `--import=${url}`));
  };
}

/** Opens the files that the environment names, and makes this thread's TLS follow them. `url`: the module that Node imports for it. */
export async function register(
  env: Readonly<Record<string, string | undefined>>,
  url: string,
): Promise<void> {
  const settings = settingsFrom(env);
  if (settings === undefined) return;
  refuseOn(['bun', 'deno'], 'register', 'use openTrust and openIdentity'); // their servers keep their first certificate
  const { ca, caOnly, status } = settings;
  const shows = isMainThread && status !== undefined;
  const threads = shows ? new Threads(systemClock) : undefined; // before the program starts any
  const show = shows ? await joinProgram(status, systemClock) : undefined;
  const trust = ca === undefined ? undefined : await openTrust(ca);
  const identity = settings.identity === undefined ? undefined : await openIdentity(settings.identity);
  const profile = settings.profile === undefined ? undefined : await openTlsProfile(settings.profile);
  const material = new FollowedMaterial({ trust, identity, profile, caOnly });
  patchTls(material);
  if (isPreload(url, process.execArgv)) passOn(url);
  const followed = material.beside(
    shownOf([trust, identity, profile].filter((source) => source !== undefined)),
  );
  // With HANDOVER_CA its bundle stands beside them in every context.
  const shown = trust === undefined ? withDefaultTrust(followed, systemClock) : followed;
  if (!isMainThread) reportThread(shown, systemClock);
  // A program that cannot say what it has loaded must not run on beside a status that seems to speak for it.
  if (threads !== undefined) await show?.(threads.beside(shown));
}
