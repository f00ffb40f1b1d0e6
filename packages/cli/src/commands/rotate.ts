import { authorityIn } from '@handover/engine';
import type { Duration } from '@handover/material';
import type { Define } from '../context.ts';
import type { Progress } from '../directory/carry-out.ts';
import { authorityArgument } from '../directory/open-home.ts';
import { type HomeFlags, homeOptions, withHome } from '../open-home.ts';
import { timeoutOption } from '../timeout-option.ts';

interface Flags extends HomeFlags {
  readonly id?: string;
  readonly wait?: true;
  readonly timeout: Duration;
  readonly json?: true;
}

export const define: Define = (command, context) => {
  homeOptions(command)
    .argument('<auth>', 'the authority: namespace/name')
    .option('--id <id>', 'name of this rotation: asking again with it never rotates twice')
    .option('--wait', 'stay until it is complete')
    .addOption(timeoutOption())
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Works beside a running \`handover run\`, which then carries it out, or by itself: then each call advances what is allowed
by now, and --wait stays until the old CA is gone from every bundle.

Examples:
  $ handover rotate default/internal --wait --home dir:/etc/handover
  $ handover rotate default/internal --id 2030-q1 --home dir:/etc/handover
  $ handover rotate mesh/internal --wait --home kube`,
    )
    .action(async (auth: string, flags: Flags) => {
      const authority = authorityArgument(auth);
      const id = flags.id ?? `asked-${new Date(context.now()).toISOString().replace(/[-:.]/g, '')}`;
      const wait =
        flags.wait === undefined
          ? undefined
          : {
              ms: flags.timeout,
              until: ({ status, record }: Progress) =>
                record?.state.ids.includes(id) === true &&
                status.phase === 'Stable' &&
                status.blockedBy.length === 0,
            };
      const { status, record, by } = await withHome(flags, context, async ({ home, look, carryOut }) => {
        const { catalogue, authorities } = await look();
        authorityIn(catalogue, authority);
        const known = (await authorities.load(authority))?.state.ids.includes(id) === true;
        if (!known) await home.requests.ask({ authority, rotate: id });
        return carryOut(authority, wait);
      });
      const begun = record?.state.ids.includes(id) === true;
      const done = begun && status.phase === 'Stable';
      if (flags.json === true) {
        const { phase, blockedBy, generations } = status;
        context.stdout.write(
          `${JSON.stringify({ authority, id, begun, done, phase, generations, blockedBy })}\n`,
        );
        return;
      }
      context.stdout.write(
        done
          ? `rotation ${id} of ${authority} is complete\n`
          : `rotation ${id} of ${authority} is ${begun ? status.phase : 'asked for'}; ${by}\n`,
      );
    });
};
