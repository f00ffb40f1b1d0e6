import { parseDuration } from '@handover/core';
import { authorityIn } from '@handover/engine';
import type { Duration } from '@handover/material';
import { Option } from 'commander';
import type { Context, Define } from '../context.ts';
import { carryOut, type Progress } from '../directory/carry-out.ts';
import { authorityArgument, homePath, openHome } from '../directory/open-home.ts';
import { usageError } from '../error-line.ts';
import { type HomeFlags, homeOptions } from '../open-home.ts';

interface Flags extends HomeFlags {
  readonly id?: string;
  readonly wait?: true;
  readonly timeout: Duration;
  readonly json?: true;
}

const durationArgument = (text: string): Duration => {
  const length = parseDuration(text);
  if (length === undefined)
    throw usageError(`--timeout ${text} is not a duration; write it like 90s, 10m or 2h`);
  return length;
};

export const define: Define = (command, context) => {
  homeOptions(command)
    .argument('<auth>', 'the authority: namespace/name')
    .option('--id <id>', 'id of the rotation: the same id never rotates twice')
    .option('--wait', 'wait until the rotation is complete')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait')
        .argParser(durationArgument)
        .default(600_000 as Duration, '10m'),
    )
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
      const { status, record, by } =
        flags.home === 'kube'
          ? await onCluster(flags, context, authority, id, wait)
          : await inDirectory(flags, context, authority, id, wait);
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

type Wait = Parameters<typeof carryOut>[3];
type Carried = Progress & { readonly by: string };

const inDirectory = async (
  flags: Flags,
  context: Context,
  authority: string,
  id: string,
  wait: Wait,
): Promise<Carried> => {
  const home = openHome(homePath(flags.home), context);
  authorityIn(home.load(), authority);
  const known = (await home.authorities.load(authority))?.state.ids.includes(id) === true;
  await home.files.makeDirectory(home.state, 0o700);
  if (!known) await home.requests.ask({ authority, rotate: id }, context.now());
  const { by, ...progress } = await carryOut(home, authority, context, wait);
  const who =
    by === undefined
      ? 'run `handover run`, or this command again with its id'
      : `process ${by} carries it out`;
  return { ...progress, by: who };
};

const onCluster = async (
  flags: Flags,
  context: Context,
  authority: string,
  id: string,
  wait: Wait,
): Promise<Carried> => {
  const [{ openCluster }, { watchOperator }] = await Promise.all([
    import('../kubernetes/open-cluster.ts'),
    import('../kubernetes/carry-out.ts'),
  ]);
  const { view, close } = await openCluster(flags);
  try {
    const known = (await view.home.authorities.load(authority))?.state.ids.includes(id) === true;
    if (!known) await view.ask(authority, { rotate: id });
    return { ...(await watchOperator(view, authority, context, wait)), by: 'the operator carries it out' };
  } finally {
    close();
  }
};
