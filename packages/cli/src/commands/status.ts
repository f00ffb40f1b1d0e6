import { authorityIn, statusOf } from '@handover/engine';
import type { Define } from '../context.ts';
import { authorityArgument, homeOption, homePath, openHome } from '../directory/open-home.ts';
import { pause } from '../directory/pause.ts';
import { showStatus } from '../directory/show-status.ts';

interface Flags {
  readonly home: string;
  readonly watch?: true;
  readonly json?: true;
}

const EVERY_MS = 1_000;

export const define: Define = (command, context) => {
  homeOption(command)
    .argument('[auth]', 'one authority: namespace/name')
    .option('--watch', 'go on, and show every change')
    .option('--json', 'print one JSON document (with --watch one per change)')
    .addHelpText(
      'after',
      `
Reads only; works beside a running \`handover run\`.

Examples:
  $ handover status --home dir:/etc/handover
  $ handover status default/internal --json --home dir:/etc/handover`,
    )
    .action(async (auth: string | undefined, flags: Flags) => {
      const home = openHome(homePath(flags.home), context);
      const only = auth === undefined ? undefined : authorityArgument(auth);
      const look = async (): Promise<string> => {
        const catalogue = home.load();
        if (only !== undefined) authorityIn(catalogue, only);
        const { status } = await statusOf(home, catalogue, only);
        return flags.json === true ? `${JSON.stringify(status)}\n` : showStatus(status, context.colours);
      };
      let shown = await look();
      context.stdout.write(shown);
      if (flags.watch !== true) return;
      const signal = context.untilStopped();
      for (;;) {
        await pause(EVERY_MS, signal);
        if (signal.aborted) return;
        const text = await look();
        if (text === shown) continue;
        shown = text;
        const clear = context.stdout.isTTY === true && flags.json !== true ? '\u001b[H\u001b[2J' : '';
        context.stdout.write(`${clear}${text}`);
      }
    });
};
