import {
  type AuthorityId,
  betweenRuns,
  type Catalogue,
  DirectoryHome,
  diskFiles,
  type Meters,
  passOnce,
  type ResourceKey,
  SteadyClock,
} from '@handover/engine';
import { duration } from '@handover/material';
import { askedResources } from '../asked-resources.ts';
import type { Worker } from '../carry-out.ts';
import type { Context } from '../context.ts';
import { isCode } from '../error.ts';
import { usageError } from '../error-line.ts';
import type { HomeOpener } from '../open-home.ts';
import { certgenIn } from './certgen.ts';

/** The directory that `--home dir:PATH` names. `elsewhere`: what to do in a home that is no directory. */
export const homePath = (home: string, elsewhere?: string): string => {
  if (home.startsWith('dir:') && home.length > 4) return home.slice(4);
  throw usageError(
    `--home ${home} names no directory; write dir:PATH, such as dir:/etc/handover${elsewhere === undefined ? '' : `. ${elsewhere}`}`,
  );
};

export const openHome = (
  path: string,
  { clock, sinceBoot }: Pick<Context, 'clock' | 'sinceBoot'>,
  meters?: Meters,
): DirectoryHome =>
  new DirectoryHome(path, {
    timers: clock,
    clock: new SteadyClock(diskFiles, `${path}/state`, () => clock.now(), sinceBoot),
    meters,
    readsUntilLocked: true,
  });

/** `namespace/name`; the namespace of a name alone is `default`. */
export const authorityArgument = (text: string): AuthorityId =>
  text.includes('/') ? text : `default/${text}`;

const orHeldAgain = (error: unknown): undefined => {
  if (!isCode(error, 'HOME_LOCKED')) throw error;
};

const carriedOutBy = (holder: ReturnType<DirectoryHome['holder']>): string => {
  if (holder?.stays === true) return `process ${holder.pid} is carrying it out`;
  const busy =
    holder === undefined
      ? ''
      : `another command (process ${holder.pid}) works on this directory, and carries out its own request only; `;
  return `${busy}run \`handover run\`, or this command again with its id`;
};

/** This process, under the directory's lock; or the process that runs on the directory. */
const workerOn = async (home: DirectoryHome, load: () => Catalogue): Promise<Worker> => {
  // `handover run` may take it between the two calls: then it does the work.
  let lock = home.holder() === undefined ? await home.lock().catch(orHeldAgain) : undefined;
  const holder = lock === undefined ? home.holder() : undefined;
  let keys: readonly ResourceKey[] | undefined;
  /** A command that holds the lock does its own work and ends; then this one goes on. */
  const isOurs = async (): Promise<boolean> => {
    if (lock !== undefined) return true;
    if (home.holder() !== undefined) return false;
    lock = await home.lock().catch(orHeldAgain);
    return lock !== undefined;
  };
  const work = async (id: AuthorityId): Promise<{ readonly restartsDue: boolean }> => {
    if (!(await isOurs())) return { restartsDue: false };
    // Everything once, then the authority that is waited for.
    await passOnce(home, load(), () => {}, keys);
    keys = [{ kind: 'Authority', id }];
    return { restartsDue: false };
  };
  return {
    by: carriedOutBy(holder),
    advice: 'it goes on with `handover run`, or ask again with the same id',
    lookEvery: duration(250),
    work: holder?.stays === true ? undefined : work,
    worksHere: () => lock !== undefined,
    stopHooks: () => home.hooks.stop(),
    close: async () => lock?.release(),
  };
};

export const directory: HomeOpener = {
  open: async (flags, context) => {
    const { resources } = askedResources(flags);
    const home = openHome(homePath(flags.home), context);
    const load = (): Catalogue => {
      home.check();
      return home.load(resources);
    };
    // Without them those of the directory are read when they are needed.
    if (resources !== undefined) load();
    return {
      home,
      read: resources === undefined ? home.fresh : betweenRuns(home.fresh),
      reload: () => void load(),
      worker: () => workerOn(home, load),
      close: () => {},
    };
  },
  workplace: ({ home }, resources, context) => certgenIn(openHome(homePath(home), context), resources),
};
