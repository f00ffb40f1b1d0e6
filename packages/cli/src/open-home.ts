import { statSync } from 'node:fs';
import type { Resource } from '@handover/core';
import type {
  AuthorityId,
  CertgenOptions,
  CertgenResult,
  Home,
  RandomSecret,
  ReadSnapshot,
  Unusable,
} from '@handover/engine';
import type { Duration } from '@handover/material';
import type { PublicView } from '@handover/operator';
import { type Command, Option } from 'commander';
import type { AskedFlags } from './asked-resources.ts';
import type { Worker } from './carry-out.ts';
import type { Context } from './context.ts';
import { authorityArgument, directory } from './directory/open-home.ts';
import { usageError } from './error-line.ts';
import { type KubeFlags, kubeOptions } from './kubernetes/connect.ts';

export interface HomeFlags extends KubeFlags, AskedFlags {
  readonly home: string;
  readonly operatorNamespace?: string;
}

/** A home for a command that looks and asks. */
export interface OpenHome {
  readonly home: Home;
  readonly read: ReadSnapshot;
  /** Reads the resources again, where no watch does. */
  reload(): void;
  /** Opens what carries requests out, here or in another process. */
  worker(): Promise<Worker>;
  close(): void;
}

/** A home for `handover certgen`, which makes things itself. */
export interface Workplace {
  run(options: CertgenOptions): Promise<readonly CertgenResult[]>;
  /** Resources that name one which is not declared. */
  unmet(): Promise<readonly Unusable[]>;
  makeRandomSecret(secret: RandomSecret): Promise<boolean>;
  /** Between two runs while it waits. */
  readonly lookEvery: Duration;
  close(): void | Promise<void>;
}

/** What is shown to those who may not read the states: nothing of it rests on a key. */
export interface OpenPublic {
  readonly view: PublicView;
  close(): void;
}

/** How commands come by a home. */
export interface HomeOpener {
  /** Undefined: this account may read the states, or nothing is published. */
  readonly openPublic?: (flags: HomeFlags, context: Context) => Promise<OpenPublic | undefined>;
  open(flags: HomeFlags, context: Context): Promise<OpenHome>;
  workplace(
    flags: HomeFlags & { readonly overwrite?: true; readonly rotationId?: string },
    resources: readonly Resource[] | undefined,
    context: Context,
  ): Promise<Workplace>;
}

/** Homes by what `--home` says; what is in capitals is the user's. A new home is a folder, and a line here. */
const HOMES: Readonly<Record<string, () => Promise<HomeOpener>>> = {
  'dir:PATH': async () => directory,
  // Loaded only when needed: most commands never connect to a cluster.
  kube: async () => (await import('./kubernetes/open-home.ts')).kubernetes,
};

const FORMS = Object.keys(HOMES).join(' or ');

export const openerOf = (home: string): Promise<HomeOpener> => {
  const found = Object.entries(HOMES).find(([form]) => {
    const fixed = form.replace(/[A-Z]+$/, '');
    return fixed === form ? home === form : home.startsWith(fixed) && home.length > fixed.length;
  });
  if (found === undefined) throw usageError(`unknown value "${home}" for --home; write ${FORMS}`);
  return found[1]();
};

/** A path alone names a directory, too; nothing at all is the directory in which the command runs. */
export const homeArgument = (text: string): string => {
  if (text === '') return 'dir:.';
  return /^[./~]/.test(text) || (text !== 'kube' && isDirectory(text)) ? `dir:${text}` : text;
};

/** `--home`; without it what HANDOVER_HOME says. */
export const homeOption = (says = `where the objects live: ${FORMS}`): Option =>
  new Option('--home <home>', says).env('HANDOVER_HOME').argParser(homeArgument).default('dir:.');

/** The authority that a command is about. Where no home is named, a directory in its place is the home: `handover status /etc/handover`. */
export const authorityOrHome = <Flags extends HomeFlags>(
  command: Command,
  flags: Flags,
  named: string | undefined,
): { readonly flags: Flags; readonly only: AuthorityId | undefined } => {
  if (named === undefined) return { flags, only: undefined };
  if (command.getOptionValueSource('home') === 'cli' || !isDirectory(named))
    return { flags, only: authorityArgument(named) };
  return { flags: { ...flags, home: `dir:${named}` }, only: undefined };
};

const isDirectory = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** `--home`, and the options of `--home kube`. */
export const homeOptions = (command: Command): Command =>
  kubeOptions(command.addOption(homeOption())).option(
    '--operator-namespace <ns>',
    'with --home kube: namespace of the operator (default: handover-system; for certgen the Job’s own)',
  );

/** Opens a home for `use`, and closes it: the watches of a cluster would keep the process alive. */
export async function withHome<T>(
  flags: HomeFlags,
  context: Context,
  use: (open: OpenHome) => Promise<T>,
): Promise<T> {
  const open = await (await openerOf(flags.home)).open(flags, context);
  try {
    return await use(open);
  } finally {
    open.close();
  }
}

/** Runs `show` on what is published, where this account may not read the states; false: it may. */
export async function withPublic(
  flags: HomeFlags,
  context: Context,
  show: (view: PublicView) => Promise<void>,
): Promise<boolean> {
  const open = await (await openerOf(flags.home)).openPublic?.(flags, context);
  if (open === undefined) return false;
  try {
    await show(open.view);
    return true;
  } finally {
    open.close();
  }
}
