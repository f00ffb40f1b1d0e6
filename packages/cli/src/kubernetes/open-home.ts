import type { Resource } from '@handover/core';
import { type AuthorityId, advance } from '@handover/engine';
import { openView } from '@handover/operator';
import { askedResources } from '../asked-resources.ts';
import type { Context } from '../context.ts';
import { type Carried, standing } from '../directory/carry-out.ts';
import { pause } from '../directory/pause.ts';
import { usageError } from '../error-line.ts';
import type { HomeFlags, HomeOpener, OpenHome } from '../open-home.ts';
import { watchOperator } from './carry-out.ts';
import { openCertgenHome } from './certgen.ts';
import { connectKube, ownNamespace } from './connect.ts';

/** Longer than this without the first look at the cluster, and the user should be told why. */
const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 1_000;

/** A cluster that an operator keeps. */
const kept = async (flags: HomeFlags, context: Context): Promise<OpenHome> => {
  const end = new AbortController();
  const { signal } = end;
  try {
    const { kube } = await connectKube(flags, signal);
    // Watches try for ever; a person at a terminal wants to know that there is no answer.
    await kube.raw('GET', '/version', { timeout: PATIENCE_MS });
    const view = await openView({ kube, namespace: ownNamespace(flags.operatorNamespace), signal });
    return {
      ...view,
      reload: () => {},
      carryOut: async (authority, wait) => ({
        ...(await watchOperator(view, authority, context, wait)),
        by: 'the operator carries it out',
      }),
      close: () => end.abort(),
    };
  } catch (error) {
    end.abort();
    throw error;
  }
};

/** A cluster where certgen keeps what is asked for, and no operator does. */
const unkept = async (
  flags: HomeFlags,
  resources: readonly Resource[],
  context: Context,
): Promise<OpenHome> => {
  const { home, close } = await openCertgenHome(flags, resources, false, context);
  /** Stays until every workload that has to be restarted for it is being restarted. */
  const carryOut = async (authority: AuthorityId): Promise<Carried> => {
    const signal = context.untilStopped();
    while ((await advance(home, authority)).restartsDue && !signal.aborted)
      await pause(LOOK_EVERY_MS, signal);
    return { ...(await standing(home.fresh, authority)), by: 'run this command again' };
  };
  return { home, look: home.fresh, reload: () => {}, carryOut, close };
};

export const kubernetes: HomeOpener = {
  open: (flags, context) => {
    const { resources } = askedResources(flags);
    return resources === undefined ? kept(flags, context) : unkept(flags, resources, context);
  },
  workplace: async (flags, resources, context) => {
    if (resources === undefined)
      throw usageError('--home kube has no resources of its own here; add --preset envoy-gateway or -f FILE');
    const takesOver = flags.overwrite === true || flags.rotationId !== undefined;
    const opened = await openCertgenHome(flags, resources, takesOver, context);
    return { ...opened, lookEvery: LOOK_EVERY_MS };
  },
};
