import type { Resource } from '@handover/core';
import { advance, betweenRuns } from '@handover/engine';
import { duration } from '@handover/material';
import { mayReadStates, openView, PublicView } from '@handover/operator';
import { askedResources } from '../asked-resources.ts';
import type { Worker } from '../carry-out.ts';
import type { Context } from '../context.ts';
import { usageError } from '../error-line.ts';
import type { HomeFlags, HomeOpener, OpenHome, OpenPublic } from '../open-home.ts';
import { openCertgenHome } from './certgen.ts';
import { connectKube, ownNamespace } from './connect.ts';

/** Longer than this without the first look at the cluster, and the user should be told why. */
const PATIENCE_MS = 30_000;
const LOOK_EVERY = duration(1_000);

/** A cluster that an operator keeps. */
const kept = async (flags: HomeFlags, { clock }: Context): Promise<OpenHome> => {
  const end = new AbortController();
  const { signal } = end;
  try {
    const { kube } = await connectKube(flags, signal, { clock });
    // Watches try for ever; a person at a terminal wants to know that there is no answer.
    await kube.raw('GET', '/version', { timeout: PATIENCE_MS });
    const view = await openView({ kube, namespace: ownNamespace(flags.operatorNamespace), signal });
    return {
      ...view,
      reload: () => {},
      worker: async () => ({
        by: 'the operator is carrying it out',
        advice: 'the operator goes on with it; check that one runs',
        lookEvery: duration(500),
        work: undefined,
        close: async () => {},
      }),
      close: () => end.abort(),
    };
  } catch (error) {
    end.abort();
    throw error;
  }
};

/** A cluster for those who may read Authorities and no Secrets. */
const published = async (flags: HomeFlags, { clock }: Context): Promise<OpenPublic | undefined> => {
  const end = new AbortController();
  const { signal } = end;
  const close = (): void => end.abort();
  try {
    const { kube } = await connectKube(flags, signal, { clock, timeout: PATIENCE_MS });
    if (!(await mayReadStates(kube, signal))) return { view: new PublicView(kube, signal), close };
    close();
    return undefined;
  } catch (error) {
    close();
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
  const again = 'run this command again';
  const worker = async (): Promise<Worker> => ({
    by: again,
    advice: again,
    lookEvery: LOOK_EVERY,
    work: (authority) => advance(home, authority),
    close: async () => {},
  });
  return { home, read: betweenRuns(home.fresh), reload: () => {}, worker, close };
};

export const kubernetes: HomeOpener = {
  openPublic: async (flags, context) =>
    askedResources(flags).resources === undefined ? published(flags, context) : undefined,
  open: (flags, context) => {
    const { resources } = askedResources(flags);
    return resources === undefined ? kept(flags, context) : unkept(flags, resources, context);
  },
  workplace: async (flags, resources, context) => {
    if (resources === undefined)
      throw usageError('--home kube needs resources here; add --preset envoy-gateway or -f FILE');
    const takesOver = flags.overwrite === true || flags.rotationId !== undefined;
    const opened = await openCertgenHome(flags, resources, takesOver, context);
    return { ...opened, lookEvery: LOOK_EVERY };
  },
};
