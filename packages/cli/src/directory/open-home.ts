import { type AuthorityId, DirectoryHome, diskFiles, type Meters, SteadyClock } from '@handover/engine';
import type { Context } from '../context.ts';
import { usageError } from '../error-line.ts';

/** The directory that `--home dir:PATH` names. */
export const homePath = (home: string): string => {
  if (home.startsWith('dir:') && home.length > 4) return home.slice(4);
  throw usageError(`unknown value "${home}" for --home; write dir:PATH, such as dir:/etc/handover, or kube`);
};

export const openHome = (path: string, context: Context, meters?: Meters): DirectoryHome =>
  new DirectoryHome(path, {
    clock: new SteadyClock(diskFiles, `${path}/state`, context.now, context.sinceBoot),
    meters,
  });

/** `namespace/name`; the namespace of a name alone is `default`. */
export const authorityArgument = (text: string): AuthorityId =>
  text.includes('/') ? text : `default/${text}`;
