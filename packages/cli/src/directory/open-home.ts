import { type AuthorityId, DirectoryHome, diskFiles, SteadyClock } from '@handover/engine';
import type { Context } from '../context.ts';
import { usageError } from '../error-line.ts';

/** The directory that `--home dir:PATH` names. */
export const homePath = (home: string): string => {
  if (home.startsWith('dir:') && home.length > 4) return home.slice(4);
  throw usageError(`--home ${home} is no home; write dir:PATH, such as dir:/etc/handover, or kube`);
};

export const openHome = (path: string, context: Context): DirectoryHome =>
  new DirectoryHome(path, {
    clock: new SteadyClock(diskFiles, `${path}/state`, context.now, context.sinceBoot),
  });

/** `namespace/name`; a name alone is one of the namespace `default`. */
export const authorityArgument = (text: string): AuthorityId =>
  text.includes('/') ? text : `default/${text}`;
