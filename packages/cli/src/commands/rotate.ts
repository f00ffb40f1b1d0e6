import { countEvidence, evidenceText, isMoving, retainedText, waitingText } from '@handover/core';
import { type AuthorityId, type AuthorityStanding, aheadIn, authorityIn, standingOf } from '@handover/engine';
import { HandoverError, iso } from '@handover/material';
import type { PublicAuthority, PublicView } from '@handover/operator';
import { Option } from 'commander';
import { carryOut, waitForStatus } from '../carry-out.ts';
import type { Context, Define } from '../context.ts';
import { failedHookLines } from '../directory/failed-hooks.ts';
import { authorityArgument } from '../directory/open-home.ts';
import { CliError, isCode } from '../error.ts';
import { type HomeFlags, homeOptions, type OpenHome, withHome, withPublic } from '../open-home.ts';
import { printable } from '../printable.ts';
import { type WaitFlags, waitOptions } from '../wait-options.ts';

interface Flags extends HomeFlags, WaitFlags {
  readonly id?: string;
  readonly cancel?: true;
}

/** What fails ends the command, not the rotation. */
const namingRotation =
  (id: string, advice: string, say: (line: string) => void) =>
  (error: unknown): never => {
    if (isCode(error, 'OBJECT_OBSTACLE'))
      throw new CliError(
        'OBJECT_OBSTACLE',
        `${error.message}; rotation ${id} is started, not finished: ${advice}`,
        {
          retry: 'later',
        },
      );
    // An interrupted wait names the rotation itself.
    if (error instanceof HandoverError && !isCode(error, 'ROTATION_UNFINISHED'))
      say(`rotation ${id} is started, not finished: ${advice}`);
    throw error;
  };

const ASKED = 'asked-';

/** A rotation that this command asked for before, and that is not over: typed again, the command goes on with it. */
const unfinished = async (open: OpenHome, authority: AuthorityId): Promise<string | undefined> => {
  const { authorities, requests } = await open.read();
  const state = (await authorities.load(authority))?.state;
  const pending = (await requests.pending(authority)).rotate.filter((id) => id.startsWith(ASKED));
  const queued = pending.find((id) => state?.ids.includes(id) !== true);
  const last = state?.ids.at(-1);
  if (state !== undefined && isMoving(state) && last?.startsWith(ASKED) === true) return last;
  return queued;
};

/** Verifiers of other namespaces that a rotation from now on would overtake. */
const behindNow = async (open: OpenHome, authority: AuthorityId): Promise<readonly string[]> => {
  try {
    const { plan } = await standingOf(open.read, authority);
    return plan.notes.flatMap(({ code, object, message }) =>
      code === 'BehindElsewhere' ? [`note: ${object}: ${message}`] : [],
    );
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    return [];
  }
};

/** Asks by the annotation on the Authority, and waits for what the operator writes in its status. */
const rotatePublic = async (
  view: PublicView,
  asked: { readonly authority: string; readonly id: string; readonly flags: Flags; readonly advice: string },
  context: Context,
): Promise<void> => {
  const { authority, id, flags, advice } = asked;
  const { timeout } = flags;
  const isOver = ({ rotations, phase, blockedBy }: PublicAuthority): boolean =>
    rotations.includes(id) && (rotations.at(-1) !== id || (phase === 'Stable' && blockedBy.length === 0));
  const look = (): Promise<PublicAuthority> => view.authority(authority);
  const before = await look();
  if (!before.rotations.includes(id)) await view.rotate(authority, id);
  const first = await look();
  const last =
    flags.wait === undefined ? first : await waitForStatus(first, isOver, { context, look, timeout, advice });
  const begun = last.rotations.includes(id);
  const done = isOver(last);
  const { phase, blockedBy, generations } = last;
  const by = 'the operator is carrying it out';
  const text =
    flags.json === true
      ? JSON.stringify({ authority, id, begun, done, after: null, phase, generations, blockedBy, hooks: [] })
      : printable(
          done
            ? `rotation ${id} of ${authority} is complete`
            : `rotation ${id} of ${authority} ${begun ? `is ${phase}` : 'has been requested'}; ${by}`,
        );
  context.stdout.write(`${text}\n`);
};

/** As {@link unfinished}: the operator's status shows rotations that have begun. */
const unfinishedPublic = async (view: PublicView, authority: AuthorityId): Promise<string | undefined> => {
  const { rotations, phase } = await view.authority(authority);
  const last = rotations.at(-1);
  return phase !== 'Stable' && last?.startsWith(ASKED) === true ? last : undefined;
};

interface Cancelled {
  /** Ids of rotations that had not begun. */
  readonly dropped: readonly string[];
  /** The rotation that has begun, and goes on. */
  readonly underWay: string | undefined;
}

/** Takes back what waits. A rotation that has begun goes on: half of its files are new. */
const cancelled = async (flags: Flags, authority: AuthorityId, context: Context): Promise<Cancelled> => {
  let done: Cancelled | undefined;
  await withPublic(flags, context, async (view) => {
    const dropped = await view.drop(authority);
    const { phase, rotations } = await view.authority(authority);
    done = { dropped, underWay: phase === 'Stable' ? undefined : rotations.at(-1) };
  });
  return (
    done ??
    withHome(flags, context, async ({ home, read }) => {
      const { catalogue, authorities } = await read();
      authorityIn(catalogue, authority);
      const dropped = await home.requests.drop(authority, (await authorities.load(authority))?.state);
      const after = (await authorities.load(authority))?.state;
      const underWay = after !== undefined && isMoving(after) ? after.ids.at(-1) : undefined;
      // It may have begun while it was taken back.
      return { dropped: dropped.filter((id) => after?.ids.includes(id) !== true), underWay };
    })
  );
};

const cancelledText = (authority: AuthorityId, { dropped, underWay }: Cancelled): string => {
  const goesOn =
    underWay === undefined
      ? ''
      : `; rotation ${underWay} has begun and goes on (spec.rotation.paused: true holds its next step)`;
  const what =
    dropped.length === 0
      ? `no rotation of ${authority} waits to begin`
      : `rotation ${dropped.join(', ')} of ${authority} is taken back, and had not begun`;
  return `${what}${goesOn}`;
};

/** How much of a rotation that is complete rests on the word of owners; empty: nothing. */
const assumedIn = ({ observation }: AuthorityStanding, id: string): string => {
  const last = observation.record?.history?.findLast(
    ({ step, rotation }) => step === 'retire' && rotation === id,
  );
  const counts = countEvidence(Object.entries(last?.counts ?? {}));
  return counts.assumed === 0
    ? ''
    : `note: evidence of this rotation: ${evidenceText(counts)} (nothing shows what they have loaded: by their owners' word they reload within reloadWithin)\n`;
};

export const define: Define = (command, context) => {
  waitOptions(
    homeOptions(command)
      .argument('<auth>', 'the authority: namespace/name')
      .option('--id <id>', 'id of the rotation, its idempotency key: the same id never rotates twice')
      .addOption(
        new Option(
          '--cancel',
          'take back the rotations that have not begun; one that has begun goes on',
        ).conflicts(['id', 'wait']),
      ),
  )
    .addHelpText(
      'after',
      `
If \`handover run\` or an operator is running, it does the work. In a directory without one, each call takes the steps that
are safe by now, and --wait continues until nothing in the authority's own namespace uses the old CA and its key is destroyed. Its certificate
stays trusted for as long as leaves of it may be in use in other namespaces; the output names them. Without --id a command that is
typed again goes on with the rotation that it asked for before, until that is over.

Examples:
  $ handover rotate default/internal --wait --home dir:/etc/handover
  $ handover rotate default/internal --id 2030-q1 --home dir:/etc/handover
  $ handover rotate default/internal --cancel --home dir:/etc/handover
  $ handover rotate mesh/internal --wait --home kube`,
    )
    .action(async (auth: string, flags: Flags) => {
      const authority = authorityArgument(auth);
      if (flags.cancel === true) {
        const result = await cancelled(flags, authority, context);
        const { dropped, underWay = null } = result;
        const text =
          flags.json === true
            ? JSON.stringify({ authority, dropped, underWay })
            : printable(cancelledText(authority, result));
        return void context.stdout.write(`${text}\n`);
      }
      const newId = `${ASKED}${iso(context.clock.now()).replace(/[-:.]/g, '')}`;
      /** A later rotation begins only after this one. */
      const isOver =
        (id: string) =>
        ({ status, observation }: AuthorityStanding): boolean => {
          const { ids = [] } = observation.record?.state ?? {};
          const isLast = ids.at(-1) === id;
          return (
            ids.includes(id) && (!isLast || (status.phase === 'Stable' && status.blockedBy.length === 0))
          );
        };
      const adviceFor = (id: string): string =>
        `it goes on without this command wherever \`handover run\` or an operator runs; to wait for it again: handover rotate ${authority} --id ${id} --wait --home ${flags.home}`;
      const isAsked = await withPublic(flags, context, async (view) => {
        const id = flags.id ?? (await unfinishedPublic(view, authority)) ?? newId;
        await rotatePublic(view, { authority, id, flags, advice: adviceFor(id) }, context);
      });
      if (isAsked) return;
      const { by, id, ...standing } = await withHome(flags, context, async (open) => {
        const { catalogue, authorities, facts } = await open.read();
        authorityIn(catalogue, authority);
        const before = flags.id === undefined ? await unfinished(open, authority) : undefined;
        const id = flags.id ?? before ?? newId;
        if (before !== undefined)
          context.stderr.write(`going on with rotation ${before}; for another one, name it: --id\n`);
        const advice = adviceFor(id);
        const wait =
          flags.wait === undefined ? undefined : { until: isOver(id), timeout: flags.timeout, advice };
        const known = (await authorities.load(authority))?.state.ids.includes(id) === true;
        if (!known) {
          // Said before it is asked for; what cannot be read now is named by the look that follows.
          const behind = facts.oneOwner === true ? [] : await behindNow(open, authority);
          if (behind.length > 0) context.stderr.write(`${behind.map(printable).join('\n')}\n`);
          await open.home.requests.ask({ authority, rotate: id });
        }
        const say = (line: string): void => {
          if (flags.json !== true) context.stderr.write(`${printable(line)}\n`);
        };
        const carried = await carryOut(open, authority, context, wait).catch(namingRotation(id, advice, say));
        return { ...carried, id };
      });
      const { status, observation } = standing;
      const begun = observation.record?.state.ids.includes(id) === true;
      const done = isOver(id)(standing);
      const ahead = begun ? [] : aheadIn(standing.plan, observation);
      if (ahead.length > 0)
        throw new CliError(
          'RUN_INCOMPLETE',
          `rotation ${id} of ${authority} is requested and cannot begin: ${waitingText(ahead)}`,
        );
      // One change at a time: the others wait for it.
      const isWaiting = !begun && isMoving(status);
      const first = isWaiting ? observation.record?.state.ids.at(-1) : undefined;
      if (flags.json === true) {
        const { phase, blockedBy, generations, hooks, evidence } = status;
        context.stdout.write(
          `${JSON.stringify({ authority, id, begun, done, after: first ?? null, phase, generations, blockedBy, hooks, evidence })}\n`,
        );
        return;
      }
      const change = first === undefined ? 'the change under way' : `rotation ${first}`;
      const queued = isWaiting ? `; ${change} comes first and is ${status.phase}` : '';
      context.stdout.write(
        `${printable(
          done
            ? `rotation ${id} of ${authority} is complete`
            : `rotation ${id} of ${authority} ${begun ? `is ${status.phase}` : `has been requested${queued}`}; ${by}`,
        )}\n`,
      );
      if (done) context.stderr.write(assumedIn(standing, id));
      if (done)
        for (const one of standing.plan.retained)
          context.stdout.write(`${printable(`CA generation ${one.generation} ${retainedText(one)}`)}\n`);
      for (const line of failedHookLines(status.hooks)) context.stdout.write(`${line}\n`);
    });
};
