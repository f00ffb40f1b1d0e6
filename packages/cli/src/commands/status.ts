import { type Status, statusOf } from '@handover/engine';
import { pause } from '@handover/runtime/pause';
import { askedOptions } from '../asked-resources.ts';
import type { Define } from '../context.ts';
import { authorityArgument } from '../directory/open-home.ts';
import { showStatus } from '../directory/show-status.ts';
import { type HomeFlags, homeOptions, withHome } from '../open-home.ts';

interface Flags extends HomeFlags {
  readonly watch?: true;
  readonly json?: true;
}

const EVERY_MS = 1_000;
const CLEAR = '\u001b[H\u001b[2J';

const withoutDue = (status: Status): object => ({
  ...status,
  authorities: status.authorities.map(({ wakeAt: _wake, dueAt: _due, ...rest }) => rest),
});

export const define: Define = (command, context) => {
  askedOptions(homeOptions(command))
    .argument('[auth]', 'one authority: namespace/name')
    .option('--watch', 'continue, and show every change')
    .option('--json', 'print one JSON document (with --watch one per change)')
    .addHelpText(
      'after',
      `
Changes nothing; works beside a running \`handover run\` or \`handover operator\`.

Examples:
  $ handover status --home dir:/etc/handover
  $ handover status default/internal --json --home dir:/etc/handover
  $ handover status --watch --home kube`,
    )
    .action((auth: string | undefined, flags: Flags) =>
      withHome(flags, context, async (open) => {
        const only = auth === undefined ? undefined : authorityArgument(auth);
        const live = flags.watch === true && flags.json !== true && context.stdout.isTTY === true;
        const look = async (): Promise<{ text: string; same: string }> => {
          open.reload();
          const status = await statusOf(open.look, only);
          const text =
            flags.json === true
              ? `${JSON.stringify(status)}\n`
              : showStatus(status, context.colours, live ? open.home.clock.now() : undefined);
          // A due time that moves with the clock is no change, unless it is counted down.
          if (flags.watch !== true && status.unusable.length > 0) context.exitCode = 1;
          return { text, same: live ? text : JSON.stringify(withoutDue(status)) };
        };
        let shown = await look();
        context.stdout.write(`${live ? CLEAR : ''}${shown.text}`);
        if (flags.watch !== true) return;
        const signal = context.untilStopped();
        for (;;) {
          await pause(EVERY_MS, signal);
          if (signal.aborted) return;
          const next = await look();
          if (next.same === shown.same) continue;
          shown = next;
          context.stdout.write(`${live ? CLEAR : ''}${shown.text}`);
        }
      }),
    );
};
