import { passOnce, type RunEvent, runDirectory } from '@handover/engine';
import type { Define } from '../context.ts';
import { openHome } from '../directory/open-home.ts';
import { eventDocument, Speaker } from '../directory/say-event.ts';
import { WaitsBelow } from '../directory/waits-below.ts';

const EVERY_MS = 1_000;

export const define: Define = (command, context) => {
  command
    .argument('<dir>', 'directory with the resources in *.yaml')
    .option('--once', 'one pass until there is nothing to do now, then end')
    .option('--json', 'print one JSON document per event')
    .addHelpText(
      'after',
      `
Reads the resources in DIR/*.yaml and keeps DIR/out/<namespace>/secrets/<name>/{tls.crt,tls.key,ca.crt} and
DIR/out/<namespace>/configmaps/<name>/<key>, each folder swapped whole as the kubelet does. Keys and the state of the
authorities are in DIR/state, readable by you alone. One process at a time; it may be killed at any moment.

Examples:
  $ handover run /etc/handover
  $ handover run /etc/handover --once`,
    )
    .action(async (dir: string, flags: { once?: true; json?: true }) => {
      const home = openHome(dir, context);
      home.check();
      const speaker = new Speaker();
      const live = flags.once !== true && flags.json !== true && context.stdout.isTTY === true;
      const waits = new WaitsBelow(context);
      const on = (event: RunEvent): void => {
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
        if (flags.once === true) {
          on({ kind: 'loaded', catalogue });
          await passOnce(home, catalogue, (event) => {
            if (event.kind !== 'failed') on(event);
          });
        } else await runDirectory(home, on, context.untilStopped());
      } finally {
        clearInterval(tick);
        waits.clear();
        await lock.release();
      }
    });
};
