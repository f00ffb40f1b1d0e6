import { ChildProcess } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

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
export function passOn(url: string): void {
  const prototype = ChildProcess.prototype as unknown as Spawning;
  const { spawn } = prototype;
  prototype.spawn = function (this: Spawning, options) {
    return spawn.call(this, withRegister(options, `--import=${url}`));
  };
}
