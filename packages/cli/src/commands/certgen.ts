import type { CertgenResult } from '@handover/engine';
import { type Duration, type HandoverError, instant } from '@handover/material';
import { askedOptions, askedResources } from '../asked-resources.ts';
import type { Context, Define } from '../context.ts';
import { pause } from '../directory/pause.ts';
import { LiveLine } from '../directory/waiting.ts';
import { CliError } from '../error.ts';
import { type HomeFlags, homeOptions, openerOf, type Workplace } from '../open-home.ts';
import { timeoutOption } from '../timeout-option.ts';

interface Flags extends HomeFlags {
  readonly overwrite?: true;
  readonly rotationId?: string;
  readonly wait?: true;
  readonly timeout: Duration;
  readonly json?: true;
}

export const define: Define = (command, context) => {
  askedOptions(homeOptions(command))
    .option('--overwrite', 'replace what is there: a rotation')
    .option(
      '--rotation-id <id>',
      'name of the rotation: a run that is repeated goes on with it; means --overwrite',
    )
    .option('--wait', 'stay until the rotation is complete')
    .addOption(timeoutOption())
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
One run for a Job or a script. Without --overwrite only what is missing is made. With it, each run takes the rotation as
far as is safe by now. Secrets whose CA key nobody kept are taken over: trusted first, replaced later.

On Kubernetes the CA lies in a Secret of the Job's own namespace (--operator-namespace: another one), a webhook's caBundle is
kept in every run, and a workload that reads its files only at its start is restarted once per rotation; the run stays for
that, about 12 s. The rights that a Job needs are in docs/recipes/envoy-gateway.md. In a directory there is no API server
that would hold a webhook or a workload.

Examples:
  $ handover certgen --preset envoy-gateway --home dir:/var/lib/certs
  $ handover certgen --preset envoy-gateway --home kube
  $ handover certgen --preset envoy-gateway --overwrite --rotation-id upgrade-7 --wait --home kube`,
    )
    .action(async (flags: Flags) => {
      const { resources, randomSecrets } = askedResources(flags);
      const workplace = await (await openerOf(flags.home)).workplace(flags, resources, context);
      try {
        const first = await workplace.run({
          overwrite: flags.overwrite === true,
          rotationId: flags.rotationId,
        });
        const made: string[] = [];
        for (const secret of randomSecrets)
          if (await workplace.makeRandomSecret(secret)) made.push(secret.object);
        const { results, written } = await goOn(workplace, first, flags, context);
        context.stdout.write(
          flags.json === true
            ? `${JSON.stringify({ written: written + made.length, made, authorities: results })}\n`
            : `${written + made.length} written\n${results.map(sentence).join('')}`,
        );
      } finally {
        await workplace.close();
      }
    });
};

const inTotal = (results: readonly CertgenResult[]): number =>
  results.reduce((sum, { written }) => sum + written, 0);

/** Stays until all is done, if asked to; else until no workload is left that only this run would restart. */
const goOn = async (
  workplace: Workplace,
  first: readonly CertgenResult[],
  flags: Flags,
  context: Context,
): Promise<{ readonly results: readonly CertgenResult[]; readonly written: number }> => {
  const isLate = ({ phase, restartsDue }: CertgenResult): boolean =>
    restartsDue || (flags.wait === true && phase !== 'Stable');
  let results = first;
  let written = inTotal(results);
  if (!results.some(isLate)) return { results, written };
  const line = new LiveLine(context.stderr);
  const signal = context.untilStopped();
  const end = performance.now() + flags.timeout;
  try {
    for (let late = results.find(isLate); late !== undefined; late = results.find(isLate)) {
      const endsAt = instant(context.now() + end - performance.now());
      line.show({ ...late, dueAt: late.wakeAt, endsAt }, context.now(), `${late.authority}: `);
      if (signal.aborted || performance.now() >= end) throw unfinished(late);
      await pause(workplace.lookEvery, signal);
      // The rotation that this run began or found: none is begun while waiting.
      const rotationId = results.find(({ rotation }) => rotation !== undefined)?.rotation;
      results = await workplace.run({ overwrite: false, rotationId });
      written += inTotal(results);
    }
  } finally {
    line.clear();
  }
  return { results, written };
};

const sentence = ({ authority, phase, rotation, blockedBy }: CertgenResult): string => {
  const waits = blockedBy.slice(0, 3).map(({ consumer, waitsFor }) => `; waits for ${consumer}: ${waitsFor}`);
  return `${authority}: ${phase}${rotation === undefined ? '' : `, rotation ${rotation}`}${waits.join('')}\n`;
};

const unfinished = ({ authority, phase, blockedBy }: CertgenResult): HandoverError => {
  const [first] = blockedBy;
  return new CliError(
    'ROTATION_UNFINISHED',
    `${authority} is still ${phase}: ${first?.consumer ?? 'it'} is waited for (${first?.waitsFor ?? 'time'}); run again with the same id`,
    { path: authority, retry: 'later' },
  );
};
