import { ackTarget, refuseUnderHook } from '@handover/engine';
import { iso } from '@handover/material';
import type { Define } from '../context.ts';
import { authorityArgument, homePath, openHome } from '../directory/open-home.ts';
import { homeOption } from '../open-home.ts';
import { printable } from '../printable.ts';

interface Flags {
  readonly authority?: string;
  readonly home: string;
  readonly json?: true;
}

export const define: Define = (command, context) => {
  command
    .argument('<consumer>', 'a name in spec.consumers of an Authority')
    .option('--authority <auth>', 'its authority, if several declare that name: namespace/name')
    .addOption(homeOption('directory: dir:PATH'))
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Says that you have restarted a program that cannot be asked what it has loaded. Run it after the restart: it counts for the files
that were in place at that moment, and never for later ones. Status and history show it as evidence "confirmed", with the
time and your user name. A consumer with a probe or a status document is asked itself. While the hook
of its files fails, or if that hook restarts it, the hook counts and your word does not. In a cluster pods are seen to restart.

Examples:
  $ handover ack billing --home dir:/etc/handover
  $ handover ack billing --authority default/internal --home dir:/etc/handover`,
    )
    .action(async (consumer: string, flags: Flags) => {
      const home = openHome(
        homePath(flags.home, 'In a cluster Handover sees which pods have restarted'),
        context,
      );
      const { authorities } = home.load();
      const only = flags.authority === undefined ? undefined : authorityArgument(flags.authority);
      const { authority, known } = ackTarget(authorities.values(), consumer, only);
      await refuseUnderHook(await home.fresh(), authority, consumer);
      const { at, by } = await home.acks.add(authority, consumer, known);
      const time = iso(at);
      context.stdout.write(
        flags.json === true
          ? `${JSON.stringify({ authority, consumer, at: time, by })}\n`
          : `${printable(`${consumer} of ${authority} was restarted before ${time}, by the word of ${by}`)}\n`,
      );
    });
};
