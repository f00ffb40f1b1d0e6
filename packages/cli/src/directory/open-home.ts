import { type AuthorityId, DirectoryHome, diskFiles, type Meters, SteadyClock } from '@handover/engine';
import { askedResources } from '../asked-resources.ts';
import type { Context } from '../context.ts';
import { usageError } from '../error-line.ts';
import type { HomeOpener } from '../open-home.ts';
import { carryOut } from './carry-out.ts';
import { certgenIn } from './certgen.ts';

export const noSuchHome = (home: string): Error =>
  usageError(`--home ${home} is no home; write dir:PATH, such as dir:/etc/handover, or kube`);

/** The directory that `--home dir:PATH` names. */
export const homePath = (home: string): string => {
  if (home.startsWith('dir:') && home.length > 4) return home.slice(4);
  throw noSuchHome(home);
};

export const openHome = (path: string, context: Context, meters?: Meters): DirectoryHome =>
  new DirectoryHome(path, {
    clock: new SteadyClock(diskFiles, `${path}/state`, context.now, context.sinceBoot),
    meters,
  });

/** `namespace/name`; a name alone is one of the namespace `default`. */
export const authorityArgument = (text: string): AuthorityId =>
  text.includes('/') ? text : `default/${text}`;

export const directory: HomeOpener = {
  open: async (flags, context) => {
    if (askedResources(flags).resources !== undefined)
      throw usageError('--preset and -f are for --home kube here; a directory has its own resources');
    const home = openHome(homePath(flags.home), context);
    return {
      home,
      look: home.fresh,
      reload: () => void home.load(),
      carryOut: (authority, wait) => carryOut(home, authority, context, wait),
      close: () => {},
    };
  },
  workplace: ({ home }, resources, context) => certgenIn(openHome(homePath(home), context), resources),
};
