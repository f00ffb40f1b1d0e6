import { type DirectoryHome, type Hook, hookLine, hookStanding, restarts } from '@handover/engine';
import type { Context, Define } from '../context.ts';
import { authorityArgument, homePath, openHome } from '../directory/open-home.ts';
import { CliError } from '../error.ts';
import { usageError } from '../error-line.ts';
import { homeOption } from '../open-home.ts';
import { printable } from '../printable.ts';

interface Flags {
  readonly home: string;
  readonly authority?: string;
  readonly bundle?: string;
  readonly json?: true;
}

const LOOK_MS = 100;
/** Longer than a hook may take, with a turn before it. */
const WAIT_MS = { reload: 75_000, restart: 260_000 } as const;

const objectName = (leaf: string | undefined, { authority, bundle }: Flags): string => {
  const named = [
    ...(leaf === undefined ? [] : [`Leaf ${authorityArgument(leaf)}`]),
    ...(authority === undefined ? [] : [`Authority ${authorityArgument(authority)}`]),
    ...(bundle === undefined ? [] : [`TrustBundle ${bundle}`]),
  ];
  const [name] = named;
  if (name === undefined || named.length > 1)
    throw usageError(
      'name one hook: a Leaf, --authority for the bundle of an Authority, or --bundle for a TrustBundle',
    );
  return name;
};

const hookIn = (home: DirectoryHome, name: string): Hook => {
  const hooks = home.declaredHooks();
  const found = hooks.find((hook) => hook.name === name);
  if (found !== undefined) return found;
  const known = hooks.slice(0, 5).map((hook) => hook.name);
  throw new CliError(
    'HOOK_UNKNOWN',
    `${name} declares no hook; ${known.length === 0 ? 'no resource here does: set spec.reload' : `hooks here: ${known.join(', ')}`}`,
    { path: home.path },
  );
};

/** Here, under the directory's lock; or by the process that runs on the directory. */
const runHook = async (home: DirectoryHome, hook: Hook, { clock, untilStopped }: Context): Promise<void> => {
  const holder = home.holder();
  if (holder === undefined) {
    const lock = await home.lock();
    try {
      await home.hooks.runNow(await home.fresh(), hook);
    } finally {
      await lock.release();
    }
    return;
  }
  const request = await home.hookRequests.ask(hook.name);
  const signal = untilStopped();
  const end = clock.monotonic() + WAIT_MS[restarts(hook) ? 'restart' : 'reload'];
  while (home.hookRequests.isPending(request)) {
    if (signal.aborted || clock.monotonic() > end) {
      await home.hookRequests.remove(request);
      throw new CliError(
        'HOOK_UNANSWERED',
        `process ${holder.pid} has not run the hook of ${hook.name} ${signal.aborted ? 'yet' : 'in time'}; see its output`,
        { path: home.path, retry: 'later' },
      );
    }
    await clock.sleep(LOOK_MS, signal);
  }
};

export const define: Define = (command, context) => {
  command
    .argument('[leaf]', 'the Leaf: name or namespace/name')
    .option('--authority <auth>', 'the hook of the bundle of this Authority: name or namespace/name')
    .option('--bundle <name>', 'the hook of this TrustBundle')
    .addOption(homeOption('the directory: dir:PATH'))
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Runs the hook whether or not its files changed. If \`handover run\` is running, that process runs it.
Exit codes: 0 the hook worked, 1 it failed, 2 usage error.

Examples:
  $ handover reload default/web --home dir:/etc/handover
  $ handover reload --bundle company --home dir:/etc/handover`,
    )
    .action(async (leaf: string | undefined, flags: Flags) => {
      const name = objectName(leaf, flags);
      const home = openHome(homePath(flags.home, 'The operator runs no hooks'), context);
      const hook = hookIn(home, name);
      await runHook(home, hook, context);
      const status = await hookStanding(await home.fresh(), hook);
      if (status.state === 'failed') context.exitCode = 1;
      context.stdout.write(
        flags.json === true ? `${JSON.stringify(status)}\n` : `${printable(hookLine(status))}\n`,
      );
    });
};
