import {
  type AuthorityId,
  advance,
  type Catalogue,
  type DirectoryHome,
  type Home,
  passOnce,
  type ResourceKey,
} from '@handover/engine';
import { duration, type Instant } from '@handover/material';
import type { Command } from 'commander';
import { type AskedFlags, askedResources } from './asked-resources.ts';
import type { Worker } from './carry-out.ts';
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

/** What a user can ask of an authority. */
export type Request = { readonly rotate: string } | { readonly distrust: number };

/** A home opened by a command. */
export interface OpenHome {
  readonly home: Home;
  catalogue(): Promise<Catalogue>;
  now(): Instant;
  ask(authority: AuthorityId, request: Request): Promise<void>;
  /** Opens what carries requests out. */
  worker(): Promise<Worker>;
  close(): void;
}

const inDirectory = (home: DirectoryHome, context: Context): OpenHome => ({
  home,
  catalogue: async () => home.load(),
  now: context.now,
  ask: async (authority, request) => {
    await home.files.makeDirectory(home.state, 0o700);
    await home.requests.ask({ authority, ...request }, context.now());
  },
  worker: async () => {
    const holder = home.holder();
    const lock = holder === undefined ? await home.lock() : undefined;
    let keys: readonly ResourceKey[] | undefined;
    const pass = async (id: AuthorityId): Promise<{ readonly restartsDue: boolean }> => {
      // Everything once, then the authority that is waited for.
      await passOnce(home, home.load(), () => {}, keys);
      keys = [{ kind: 'Authority', id }];
      return { restartsDue: false };
    };
    return {
      by:
        holder === undefined
          ? 'run `handover run`, or this command again with its id'
          : `process ${holder.pid} carries it out`,
      advice: 'it goes on with `handover run`, or ask again with the same id',
      lookEvery: duration(250),
      work: lock === undefined ? undefined : pass,
      close: async () => lock?.release(),
    };
  },
  close: () => {},
});

async function openAnyHome(flags: HomeFlags, context: Context): Promise<OpenHome> {
  const { resources } = askedResources(flags);
  if (flags.home !== 'kube') {
    if (resources !== undefined)
      throw usageError('--preset and -f need --home kube here; a directory has its own resources');
    return inDirectory(openHome(homePath(flags.home), context), context);
  }
  if (resources !== undefined) {
    const { openCertgenHome } = await import('./kubernetes/certgen.ts');
    const { home, catalogue, distrust, close } = await openCertgenHome(flags, resources, false, context);
    return {
      home,
      catalogue,
      now: () => home.clock.now(),
      ask: async (authority, request) => {
        if ('distrust' in request) distrust(authority, request.distrust);
      },
      worker: async () => ({
        by: 'run this command again',
        advice: 'run this command again',
        lookEvery: duration(1_000),
        work: async (id) => advance(home, await catalogue(), id),
        close: async () => {},
      }),
      close,
    };
  }
  // Loaded only when needed: most commands never connect to a cluster.
  const { openCluster } = await import('./kubernetes/open-cluster.ts');
  const { view, close } = await openCluster(flags);
  return {
    home: view.home,
    catalogue: async () => (await view.resolved()).catalogue,
    now: view.now,
    ask: view.ask,
    worker: async () => ({
      by: 'the operator carries it out',
      advice: 'the operator goes on with it; look whether one runs',
      lookEvery: duration(500),
      work: undefined,
      close: async () => {},
    }),
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
