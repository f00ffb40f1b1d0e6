import { restsText, waitingText } from '@handover/core';
import { type CertgenResult, type RotationAhead, unusableLine } from '@handover/engine';
import { askedOptions, askedResources } from '../asked-resources.ts';
import { waitUntilDone } from '../carry-out.ts';
import type { Context, Define } from '../context.ts';
import { CliError } from '../error.ts';
import { type HomeFlags, homeOptions, openerOf, type Workplace } from '../open-home.ts';
import { amount, printable } from '../printable.ts';
import { type WaitFlags, waitOptions } from '../wait-options.ts';

interface Flags extends HomeFlags, WaitFlags {
  readonly overwrite?: true;
  readonly rotationId?: string;
}

export const define: Define = (command, context) => {
  waitOptions(
    askedOptions(homeOptions(command))
      .option('--overwrite', 'replace existing certificates: start a rotation, or continue the one under way')
      .option('--rotation-id <id>', 'id of the rotation: a repeated run continues it; implies --overwrite'),
  )
    .addHelpText(
      'after',
      `
One run for a Job, a CronJob or a script. Each run creates what is missing, renews what is due, and advances a rotation as
far as is safe; Secrets of another program stay as they are. --overwrite starts a rotation, and adopts existing Secrets
whose CA key is lost: their CA is trusted first, and replaced later. Exits non-zero if any certificate is expired, if an Authority
refuses a Leaf, or if a resource names another one that is not declared.

On Kubernetes the CA is in a Secret of the Job's own namespace (change it with --operator-namespace). Every run updates the
caBundle of a webhook. A workload that reads its files only when it starts is restarted once per rotation; the run waits for
that, about 12 s. Before a rotation begins, the run names the consumers that show nothing of what they have loaded, for which it
takes the time reloadWithin as evidence, and the workloads that a restart interrupts (WillInterrupt). docs/recipes/envoy-gateway.md lists the rights that a Job needs. A directory has no webhooks and no
workloads.

Examples:
  $ handover certgen --preset envoy-gateway --home dir:/var/lib/certs
  $ handover certgen --preset envoy-gateway --home kube
  $ handover certgen --preset envoy-gateway --overwrite --rotation-id upgrade-7 --wait --home kube`,
    )
    .action(async (flags: Flags) => {
      const { resources, randomSecrets } = askedResources(flags);
      const workplace = await (await openerOf(flags.home)).workplace(flags, resources, context);
      try {
        // The JSON document says it too, at its end: each stream holds one document at most.
        const onBegin = (ahead: RotationAhead): void => {
          if (flags.json === true) return;
          for (const line of aheadLines(ahead)) context.stdout.write(`${printable(line)}\n`);
        };
        const first = await workplace.run({
          overwrite: flags.overwrite === true,
          rotationId: flags.rotationId,
          onBegin,
        });
        const made: string[] = [];
        for (const secret of randomSecrets)
          if (await workplace.makeRandomSecret(secret)) made.push(secret.object);
        const { results, written } = await goOn(workplace, first, flags, context, onBegin);
        context.stdout.write(
          flags.json === true
            ? `${JSON.stringify({ written: written + made.length, made, authorities: results })}\n`
            : `${amount(written + made.length, 'object')} written\n${results.map(sentence).join('')}`,
        );
        mustBeValid(results);
        mustBeMet([
          ...(await workplace.unmet()).map(unusableLine),
          ...results.flatMap(({ refused }) => refused.map(({ leaf, why }) => `Leaf ${leaf}: ${why}`)),
        ]);
      } finally {
        await workplace.close();
      }
    });
};

/** What a rotation that is about to begin rests on, and what it interrupts. */
const aheadLines = ({ authority, restsOnTime, willInterrupt }: RotationAhead): readonly string[] => [
  ...restsText(restsOnTime).map((phrase) => `${authority}: ${phrase}`),
  ...willInterrupt.map(({ consumer, why }) => `${authority}: WillInterrupt: ${consumer}: ${why}`),
];

const inTotal = (results: readonly CertgenResult[]): number =>
  results.reduce((sum, { written }) => sum + written, 0);

/** With --wait, waits for the end of the rotation; otherwise until the workloads that only this run would restart are restarted. */
const goOn = async (
  workplace: Workplace,
  first: readonly CertgenResult[],
  flags: Flags,
  context: Context,
  onBegin: (ahead: RotationAhead) => void,
): Promise<{ readonly results: readonly CertgenResult[]; readonly written: number }> => {
  const isLate = ({ phase, restartsDue }: CertgenResult): boolean =>
    restartsDue || (flags.wait === true && phase !== 'Stable');
  let written = inTotal(first);
  let rotationId = rotationIn(first);
  const results = await waitUntilDone(first, {
    context,
    look: async () => {
      // The rotation that this run started or found: waiting starts none.
      const looked = await workplace.run({ overwrite: false, rotationId, onBegin });
      rotationId = rotationIn(looked);
      written += inTotal(looked);
      return looked;
    },
    waiting: (looked) => {
      const late = looked.find(isLate);
      return late === undefined ? undefined : { ...late, about: `${late.authority}: ` };
    },
    lookEvery: workplace.lookEvery,
    timeout: flags.timeout,
    now: () => context.clock.now(),
    advice: 'run again with the same id',
  });
  return { results, written };
};

/** A Job that ends well must not hide that peers refuse what it looks after. */
const mustBeValid = (results: readonly CertgenResult[]): void => {
  const bad = results.find(({ notValid }) => notValid.length > 0);
  const [first, ...others] = bad?.notValid ?? [];
  if (bad === undefined || first === undefined) return;
  const more = others.length === 0 ? '' : `, and ${amount(others.length, 'other Secret')} too`;
  const advice =
    bad.phase === 'Stable'
      ? 'run with --overwrite to replace it'
      : 'the rotation under way replaces it: run again, or with --wait';
  throw new CliError('CERTGEN_NOT_VALID', `${first.object} ${first.why}${more}; ${advice}`, {
    path: first.object,
    retry: 'later',
  });
};

/** Nor that a resource gets nothing. */
const mustBeMet = ([first, ...others]: readonly string[]): void => {
  if (first === undefined) return;
  const more = others.length === 0 ? '' : `; and ${others.length} more, see handover status`;
  throw new CliError('RUN_INCOMPLETE', `${first}${more}`);
};

const rotationIn = (results: readonly CertgenResult[]): string | undefined =>
  results.find(({ rotation }) => rotation !== undefined)?.rotation;

const sentence = ({ authority, phase, rotation, blockedBy }: CertgenResult): string => {
  const waits = blockedBy.length === 0 ? '' : `; ${waitingText(blockedBy)}`;
  return `${authority}: ${phase}${rotation === undefined ? '' : `, rotation ${rotation}`}${waits}\n`;
};
