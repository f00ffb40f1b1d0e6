import type { Catalogue, Home } from '@handover/engine';
import type { Instant } from '@handover/material';
import type { CertgenHome, View } from '@handover/operator';
import type { Command } from 'commander';
import { type AskedFlags, askedResources } from './asked-resources.ts';
import type { Context } from './context.ts';
import { homePath, openHome } from './directory/open-home.ts';
import { usageError } from './error-line.ts';
import { type KubeFlags, kubeOptions } from './kubernetes/flags.ts';

export interface HomeFlags extends KubeFlags, AskedFlags {
  readonly home: string;
  readonly operatorNamespace?: string;
}

/** `--home`, and the options of `--home kube`. */
export const homeOptions = (command: Command): Command =>
  kubeOptions(command.option('--home <home>', 'where the objects live: dir:PATH or kube', 'dir:.')).option(
    '--operator-namespace <ns>',
    'with --home kube: namespace of the operator (default: handover-system; for certgen the Job’s own)',
  );

/** A home opened by a command. */
export interface OpenHome {
  readonly home: Home;
  catalogue(): Promise<Catalogue>;
  now(): Instant;
  /** The cluster, where an operator manages it. */
  readonly view: View | undefined;
  /** The cluster, where certgen manages the given resources and no operator does. */
  readonly certgen?: CertgenHome | undefined;
  close(): void;
}

async function openAnyHome(flags: HomeFlags, context: Context): Promise<OpenHome> {
  const { resources } = askedResources(flags);
  if (flags.home !== 'kube') {
    if (resources !== undefined)
      throw usageError('--preset and -f need --home kube here; a directory has its own resources');
    const home = openHome(homePath(flags.home), context);
    return { home, catalogue: async () => home.load(), now: context.now, view: undefined, close: () => {} };
  }
  if (resources !== undefined) {
    const { openCertgenHome } = await import('./kubernetes/certgen.ts');
    const certgen = await openCertgenHome(flags, resources, false, context);
    const { home, catalogue, close } = certgen;
    return { home, catalogue, now: () => home.clock.now(), view: undefined, certgen, close };
  }
  // Loaded only when needed: most commands never connect to a cluster.
  const { openCluster } = await import('./kubernetes/open-cluster.ts');
  const { view, close } = await openCluster(flags);
  return {
    home: view.home,
    catalogue: async () => (await view.resolved()).catalogue,
    now: view.now,
    view,
    close,
  };
}

/** Opens a home for `use`, and closes it: the watches of a cluster would keep the process alive. */
export async function withHome<T>(
  flags: HomeFlags,
  context: Context,
  use: (open: OpenHome) => Promise<T>,
): Promise<T> {
  const open = await openAnyHome(flags, context);
  try {
    return await use(open);
  } finally {
    open.close();
  }
}
