import { explain, plan, restsOnTime, restsText, sentenceOf } from '@handover/core';
import {
  type HookStatus,
  hookLine,
  hookStanding,
  hooksIn,
  observeWithRetry,
  remarksOn,
  survey,
  unusableLine,
} from '@handover/engine';
import { iso } from '@handover/material';
import { askedOptions } from '../asked-resources.ts';
import type { Define } from '../context.ts';
import { authorityOrHome, type HomeFlags, homeOptions, withHome, withPublic } from '../open-home.ts';
import { printable } from '../printable.ts';

export const define: Define = (command, context) => {
  askedOptions(homeOptions(command))
    .argument('[auth]', 'one authority: namespace/name; or a directory, in place of --home')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Shows the actions that would be taken now, each with its reason, what the next step waits for, and for which consumers a rotation
takes the time reloadWithin as evidence, because nothing shows what they have loaded. Changes nothing.

Examples:
  $ handover plan --home dir:/etc/handover
  $ handover plan default/internal --json --home dir:/etc/handover
  $ handover plan --home kube`,
    )
    .action(async (auth: string | undefined, given: HomeFlags & { json?: true }) => {
      const { flags, only } = authorityOrHome(command, given, auth);
      const isShown = await withPublic(flags, context, async (view) => {
        const { authorities, unusable, remarks } = await view.status(only);
        if (unusable.length > 0) context.exitCode = 1;
        if (flags.json === true) {
          const plans = authorities.map(({ namespace, name, phase, blockedBy, notes, next }) => ({
            authority: `${namespace}/${name}`,
            phase,
            next,
            blockedBy,
            notes,
          }));
          context.stdout.write(`${JSON.stringify({ plans, unusable, hooks: [], remarks })}\n`);
          return;
        }
        const lines = [
          ...authorities.flatMap(({ namespace, name, next }) =>
            next.map((line) => `${namespace}/${name}: ${line}`),
          ),
          ...unusable.map(unusableLine),
          ...remarks,
        ];
        for (const line of lines) context.stdout.write(`${printable(line)}\n`);
      });
      if (isShown) return;
      await withHome(flags, context, async ({ read }) => {
        const seen = await read();
        const { catalogue, facts } = seen;
        const { found: plans, unusable } = await survey({ catalogue }, only, async (id) => {
          const { seen: observed, responsibilities, now } = await observeWithRetry(read, id);
          const { policy, refused } = responsibilities;
          const resting = restsOnTime(observed, policy);
          return { authority: id, plan: plan(observed, policy, now), refused, restsOnTime: resting };
        });
        if (unusable.length > 0) context.exitCode = 1;
        const hooks: HookStatus[] = [];
        for (const hook of seen.hooks === undefined ? [] : hooksIn(catalogue))
          if (only === undefined || hook.authorities.includes(only))
            hooks.push(await hookStanding(seen, hook));
        const remarks = remarksOn(catalogue, facts.consumersFound, unusable);
        if (flags.json === true) {
          const documents = plans.map(
            ({ authority, plan: { phase, actions, blockedBy, notes, wakeAt }, refused, restsOnTime }) => ({
              authority,
              phase,
              actions,
              blockedBy,
              notes,
              refused,
              restsOnTime,
              wakeAt: wakeAt === undefined ? null : iso(wakeAt),
            }),
          );
          context.stdout.write(`${JSON.stringify({ plans: documents, unusable, hooks, remarks })}\n`);
          return;
        }
        for (const { authority, plan: made, refused, restsOnTime: resting } of plans)
          for (const line of [
            ...explain(made),
            ...restsText(resting, { atRest: made.phase === 'Stable' && made.actions.length === 0 }).map(
              sentenceOf,
            ),
            ...refused.map(({ leaf, why }) => `Leaf ${leaf}: ${why}`),
          ])
            context.stdout.write(`${printable(`${authority}: ${line}`)}\n`);
        for (const one of unusable) context.stdout.write(`${printable(unusableLine(one))}\n`);
        for (const hook of hooks.filter(({ state }) => state === 'failed' || state === 'due'))
          context.stdout.write(`${printable(sentenceOf(hookLine(hook)))}\n`);
        for (const remark of remarks) context.stdout.write(`${printable(remark)}\n`);
      });
    });
};
