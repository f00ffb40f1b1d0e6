import { type AuthorityStanding, authorityIn } from '@handover/engine';
import type { Duration } from '@handover/material';
import { carryOut } from '../carry-out.ts';
import type { Define } from '../context.ts';
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
    .option('--id <id>', 'id of the rotation: the same id never rotates twice')
    .option('--wait', 'wait until the rotation is complete')
    .addOption(timeoutOption())
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
If \`handover run\` or an operator is running, it does the work. In a directory without one, each call takes the steps that
are safe by now, and --wait continues until the old CA is gone from every bundle.

Examples:
  $ handover rotate default/internal --wait --home dir:/etc/handover
  $ handover rotate default/internal --id 2030-q1 --home dir:/etc/handover
  $ handover rotate mesh/internal --wait --home kube`,
    )
    .action(async (auth: string, flags: Flags) => {
      const authority = authorityArgument(auth);
      const id = flags.id ?? `asked-${new Date(context.now()).toISOString().replace(/[-:.]/g, '')}`;
      const until = ({ status, observation }: AuthorityStanding): boolean =>
        observation.record?.state.ids.includes(id) === true &&
        status.phase === 'Stable' &&
        status.blockedBy.length === 0;
      const wait = flags.wait === undefined ? undefined : { until, timeout: flags.timeout };
      const { status, observation, by } = await withHome(flags, context, async (open) => {
        const { catalogue, authorities } = await open.look();
        authorityIn(catalogue, authority);
        const known = (await authorities.load(authority))?.state.ids.includes(id) === true;
        if (!known) await open.home.requests.ask({ authority, rotate: id });
        return carryOut(open, authority, context, wait);
      });
      const begun = observation.record?.state.ids.includes(id) === true;
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
