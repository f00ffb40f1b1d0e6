import { type AuthorityId, DirectoryHome, diskFiles, type Meters, SteadyClock } from '@handover/engine';
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { usageError } from '../error-line.ts';

export const homeOption = (command: Command): Command =>
  command.option('--home <home>', 'where the objects live: dir:PATH', 'dir:.');

/** The directory that `--home dir:PATH` names. */
export const homePath = (home: string): string => {
  if (home.startsWith('dir:') && home.length > 4) return home.slice(4);
  if (home === 'kube') throw usageError('--home kube is not in this build yet; use --home dir:PATH');
  throw usageError(`--home ${home} is no home; write dir:PATH, such as dir:/etc/handover`);
};

export const openHome = (path: string, context: Context, meters?: Meters): DirectoryHome =>
  new DirectoryHome(path, {
    clock: new SteadyClock(diskFiles, `${path}/state`, context.now, context.sinceBoot),
    meters,
  });

/** `namespace/name`; a name alone is one of the namespace `default`. */
export const authorityArgument = (text: string): AuthorityId =>
  text.includes('/') ? text : `default/${text}`;
