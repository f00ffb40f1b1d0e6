import { parseDuration, waitingText } from '@handover/core';
import type { CertgenResult } from '@handover/engine';
import { type Duration, type HandoverError, instant } from '@handover/material';
import { pause } from '@handover/runtime/pause';
import { Option } from 'commander';
import { amount } from '../amount.ts';
import { askedOptions, askedResources } from '../asked-resources.ts';
import type { Context, Define } from '../context.ts';
import { certgenIn, type Workplace } from '../directory/certgen.ts';
import { LiveLine } from '../directory/waiting.ts';
import { CliError } from '../error.ts';
import { usageError } from '../error-line.ts';
import { type HomeFlags, homeOptions } from '../open-home.ts';

interface Flags extends HomeFlags {
  readonly overwrite?: true;
  readonly rotationId?: string;
  readonly wait?: true;
  readonly timeout: Duration;
  readonly json?: true;
}

const LOOK_EVERY_MS = { directory: 250, kube: 1_000 } as const;

const durationArgument = (text: string): Duration => {
  const length = parseDuration(text);
  if (length === undefined)
    throw usageError(`--timeout: "${text}" is not a duration; write it like 90s, 10m or 2h`);
  return length;
};

export const define: Define = (command, context) => {
  askedOptions(homeOptions(command))
    .option('--overwrite', 'replace existing certificates: start or continue a rotation')
    .option('--rotation-id <id>', 'id of the rotation: a repeated run continues it; implies --overwrite')
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
One run for a Job or a script. Without --overwrite it creates only what is missing. With it, each run advances the rotation
as far as is safe. Existing Secrets whose CA key is lost are adopted: their CA is trusted first, and replaced later.

On Kubernetes the CA is in a Secret of the Job's own namespace (change it with --operator-namespace). Every run updates the
caBundle of a webhook. A workload that reads its files only when it starts is restarted once per rotation; the run waits for
that, about 12 s. docs/recipes/envoy-gateway.md lists the rights that a Job needs. A directory has no webhooks and no
workloads.

Examples:
  $ handover certgen --preset envoy-gateway --home dir:/var/lib/certs
  $ handover certgen --preset envoy-gateway --home kube
  $ handover certgen --preset envoy-gateway --overwrite --rotation-id upgrade-7 --wait --home kube`,
    )
    .action(async (flags: Flags) => {
      const { resources, randomSecrets } = askedResources(flags);
      const workplace = await open(flags, resources, context);
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
            : `${amount(written + made.length, 'object')} written\n${results.map(sentence).join('')}`,
        );
      } finally {
        await workplace.close();
      }
    });
};

const open = async (
  flags: Flags,
  resources: ReturnType<typeof askedResources>['resources'],
  context: Context,
): Promise<Workplace> => {
  if (flags.home !== 'kube') return certgenIn(flags.home, resources, context);
  if (resources === undefined)
    throw usageError('--home kube needs resources here; add --preset envoy-gateway or -f FILE');
  const { openCertgenHome } = await import('../kubernetes/certgen.ts');
  const takesOver = flags.overwrite === true || flags.rotationId !== undefined;
  return openCertgenHome(flags, resources, takesOver, context);
};

const inTotal = (results: readonly CertgenResult[]): number =>
  results.reduce((sum, { written }) => sum + written, 0);

/** With --wait, waits for the end of the rotation; otherwise until the workloads that only this run would restart are restarted. */
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
      await pause(LOOK_EVERY_MS[flags.home === 'kube' ? 'kube' : 'directory'], signal);
      // The rotation that this run started or found: waiting starts none.
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
  const waits = blockedBy.length === 0 ? '' : `; ${waitingText(blockedBy)}`;
  return `${authority}: ${phase}${rotation === undefined ? '' : `, rotation ${rotation}`}${waits}\n`;
};

const unfinished = ({ authority, phase, blockedBy }: CertgenResult): HandoverError =>
  new CliError(
    'ROTATION_UNFINISHED',
    `${authority} is still ${phase}${blockedBy.length === 0 ? '' : `: ${waitingText(blockedBy)}`}; run again with the same id`,
    { path: authority, retry: 'later' },
  );
