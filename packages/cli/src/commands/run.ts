import type { Board, Dashboard } from '@handover/dashboard';
import { type DirectoryHome, passOnce, type RunEvent, restOfStatus, runDirectory } from '@handover/engine';
import { listenAddress } from '../address.ts';
import type { Context, Define } from '../context.ts';
import { tellBoard } from '../directory/board.ts';
import { openHome } from '../directory/open-home.ts';
import { eventDocument, Speaker } from '../directory/say-event.ts';
import { WaitsBelow } from '../directory/waits-below.ts';

const EVERY_MS = 1_000;

interface Flags {
  readonly once?: true;
  readonly json?: true;
  readonly dashboardAddress?: readonly [string, number];
}

const openDashboard = async (
  home: DirectoryHome,
  [host, port]: readonly [string, number],
  context: Context,
): Promise<{ readonly board: Board; readonly dashboard: Dashboard }> => {
  const { Board, serveDashboard } = await import('@handover/dashboard');
  const board = new Board({
    title: home.path,
    now: context.now,
    rest: () => restOfStatus(home, home.load()),
  });
  return { board, dashboard: await serveDashboard({ board, host, port }) };
};

export const define: Define = (command, context) => {
  command
    .argument('<dir>', 'directory with the resources in *.yaml')
    .option('--once', 'one pass until there is nothing to do now, then end')
    .option(
      '--dashboard-address <host:port>',
      'serve a page that shows all this; a port alone is one of 127.0.0.1 (default: none)',
      listenAddress('--dashboard-address', '127.0.0.1'),
    )
    .option('--json', 'print one JSON document per event')
    .addHelpText(
      'after',
      `
Reads the resources in DIR/*.yaml and keeps DIR/out/<namespace>/secrets/<name>/{tls.crt,tls.key,ca.crt} and
DIR/out/<namespace>/configmaps/<name>/<key>, each folder swapped whole as the kubelet does. Keys and the state of the
authorities are in DIR/state, readable by you alone. One process at a time; it may be killed at any moment.

Examples:
  $ handover run /etc/handover
  $ handover run /etc/handover --dashboard-address 127.0.0.1:8082
  $ handover run /etc/handover --once`,
    )
    .action(async (dir: string, flags: Flags) => {
      const home = openHome(dir, context);
      home.check();
      const speaker = new Speaker();
      const live = flags.once !== true && flags.json !== true && context.stdout.isTTY === true;
      const waits = new WaitsBelow(context);
      let shown: Awaited<ReturnType<typeof openDashboard>> | undefined;
      const on = (event: RunEvent): void => {
        if (shown !== undefined) tellBoard(shown.board, event);
        if (flags.json === true) {
          context.stdout.write(`${JSON.stringify(eventDocument(event, context.now()))}\n`);
          return;
        }
        const lines = speaker.lines(event);
        if (lines.length > 0) waits.clear();
        for (const line of lines) context.stdout.write(`${line}\n`);
        if (live) waits.heard(event);
      };
      const catalogue = home.load();
      const lock = await home.lock();
      const tick = live ? setInterval(() => waits.show(), EVERY_MS) : undefined;
      try {
        if (flags.dashboardAddress !== undefined && flags.once !== true) {
          shown = await openDashboard(home, flags.dashboardAddress, context);
          const { url } = shown.dashboard;
          context.stdout.write(
            flags.json === true ? `${JSON.stringify({ event: 'dashboard', url })}\n` : `dashboard: ${url}\n`,
          );
        }
        if (flags.once === true) {
          on({ kind: 'loaded', catalogue });
          await passOnce(home, catalogue, (event) => {
            if (event.kind !== 'failed') on(event);
          });
        } else await runDirectory(home, on, context.untilStopped());
      } finally {
        clearInterval(tick);
        waits.clear();
        await shown?.dashboard.close();
        await lock.release();
      }
    });
};
