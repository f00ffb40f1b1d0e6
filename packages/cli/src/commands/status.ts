import { type AuthorityId, type Snapshot, type Status, statusOf } from '@handover/engine';
import { HandoverError } from '@handover/material';
import type { PublicView } from '@handover/operator';
import { askedOptions } from '../asked-resources.ts';
import type { Context, Define } from '../context.ts';
import { showStatus } from '../directory/show-status.ts';
import { authorityOrHome, type HomeFlags, homeOptions, withHome, withPublic } from '../open-home.ts';

interface Flags extends HomeFlags {
  readonly watch?: true;
  readonly json?: true;
}

const EVERY_MS = 1_000;
/** A look asks every consumer, and a server that refuses logs it: while no authority changes, a look is good for this long. */
const GOOD_FOR_MS = { moving: 5_000, atRest: 10_000 } as const;
const CLEAR = '\u001b[H\u001b[2J';

const withoutDue = (status: Status): object => ({
  ...status,
  authorities: status.authorities.map(({ wakeAt: _wake, dueAt: _due, ...rest }) => ({
    ...rest,
    consumers: rest.consumers.map(({ shows, ...consumer }) => ({
      ...consumer,
      shows: shows.map(({ at: _at, ...shown }) => shown),
    })),
  })),
});

const revisionsIn = async (
  { authorities, catalogue }: Snapshot,
  only: AuthorityId | undefined,
): Promise<string> => {
  const revisionOf = async (id: AuthorityId): Promise<unknown> => {
    try {
      return [id, (await authorities.load(id))?.state.revision];
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      return [id, error.code];
    }
  };
  const ids = only === undefined ? [...catalogue.authorities.keys()] : [only];
  return JSON.stringify(await Promise.all(ids.map(revisionOf)));
};

const goodForMs = ({ authorities }: Status): number =>
  authorities.some(({ phase }) => phase !== 'Stable') ? GOOD_FOR_MS.moving : GOOD_FOR_MS.atRest;

/** The status that the operator wrote. */
const showPublic = async (
  view: PublicView,
  only: AuthorityId | undefined,
  flags: Flags,
  context: Context,
): Promise<void> => {
  const signal = flags.watch === true ? context.untilStopped() : undefined;
  for (let shown = ''; ; ) {
    const status = await view.status(only);
    if (signal === undefined && status.wrong.length > 0) context.exitCode = 1;
    const text = flags.json === true ? `${JSON.stringify(status)}\n` : showStatus(status, context.colours);
    if (text !== shown) context.stdout.write(text);
    shown = text;
    if (signal === undefined) return;
    await context.clock.sleep(EVERY_MS, signal);
    if (signal.aborted) return;
  }
};

export const define: Define = (command, context) => {
  askedOptions(homeOptions(command))
    .argument('[auth]', 'one authority: namespace/name; or a directory, in place of --home')
    .option('--watch', 'continue, and show every change')
    .option('--json', 'print one JSON document (with --watch one per change)')
    .addHelpText(
      'after',
      `
Changes nothing; works beside a running \`handover run\` or \`handover operator\`. Exit code 1: a resource or the state of an Authority
cannot be used, a resource names one that is not declared, an Authority refuses a Leaf, a file is damaged, or an Authority is not
ready because a certificate has expired, is not valid yet, is refused, or because a person has to decide. What \`handover run\` or an operator has yet to make for the first time is no failure, and neither is a
rotation that waits; for alarms: handover check. An account that may read Authorities but no Secrets (ClusterRole handover-viewer) sees what the operator wrote last. With --watch, consumers are asked every 10 s, during a rotation every 5 s.

Examples:
  $ handover status --home dir:/etc/handover
  $ handover status default/internal --json --home dir:/etc/handover
  $ handover status --watch --home kube`,
    )
    .action(async (auth: string | undefined, given: Flags) => {
      const { flags, only } = authorityOrHome(command, given, auth);
      const isShown = await withPublic(flags, context, (view) => showPublic(view, only, flags, context));
      if (isShown) return;
      await withHome(flags, context, async (open) => {
        const live = flags.watch === true && flags.json !== true && context.stdout.isTTY === true;
        const look = async (): Promise<{ status: Status; revisions: string; at: number }> => {
          const revisions = await revisionsIn(await open.read(), only);
          return { status: await statusOf(open.read, only), revisions, at: context.clock.monotonic() };
        };
        const textOf = (status: Status): string =>
          flags.json === true
            ? `${JSON.stringify(status)}\n`
            : showStatus(status, context.colours, live ? open.home.clock.now() : undefined);
        // A due time, or the time of a probe, that moves with the clock is no change, unless it is counted down.
        const sameOf = (status: Status): string =>
          live ? textOf(status) : JSON.stringify(withoutDue(status));
        open.reload();
        let looked = await look();
        if (flags.watch !== true && looked.status.wrong.length > 0) context.exitCode = 1;
        let shown = '';
        const signal = flags.watch === true ? context.untilStopped() : undefined;
        for (;;) {
          const same = sameOf(looked.status);
          if (same !== shown) context.stdout.write(`${live ? CLEAR : ''}${textOf(looked.status)}`);
          shown = same;
          if (signal === undefined) return;
          await context.clock.sleep(EVERY_MS, signal);
          if (signal.aborted) return;
          open.reload();
          const isOld = context.clock.monotonic() - looked.at > goodForMs(looked.status);
          if (isOld || (await revisionsIn(await open.read(), only)) !== looked.revisions)
            looked = await look();
        }
      });
    });
};
