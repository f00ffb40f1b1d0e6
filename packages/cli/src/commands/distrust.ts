import { type Plan, plan } from '@handover/core';
import {
  type AuthorityStanding,
  authorityIn,
  materialIn,
  standingOf,
  verifyAuthority,
} from '@handover/engine';
import { duration, type HandoverError } from '@handover/material';
import type { PublicAuthority, PublicView } from '@handover/operator';
import { askedOptions } from '../asked-resources.ts';
import { carryOut, waitForStatus } from '../carry-out.ts';
import type { Context, Define } from '../context.ts';
import { failedHookLines } from '../directory/failed-hooks.ts';
import { authorityArgument } from '../directory/open-home.ts';
import { failingLines } from '../directory/trust-table.ts';
import { CliError } from '../error.ts';
import { endingOf, errorJson, usageError } from '../error-line.ts';
import { type HomeFlags, homeOptions, withHome, withPublic } from '../open-home.ts';
import { amount, printable } from '../printable.ts';

interface Flags extends HomeFlags {
  readonly generation: number;
  readonly yes?: true;
  readonly json?: true;
}

const SHOWN = 20;
/** How a consumer loads its new files. */
const COMES_BY: ReadonlyMap<string, string> = new Map([
  ['hot', 'which loads them by itself'],
  ['restart', 'which loads them when it is restarted'],
  ['unknown', 'which loads them at an unknown time'],
  ['field', 'which the API server reads'],
]);
const failingConsumers = (
  consumers: readonly { readonly name: string; readonly kind: string }[],
): readonly string[] => [
  ...consumers
    .slice(0, SHOWN)
    .map(({ name, kind }) =>
      printable(`fails until it has the new files: ${name}, ${COMES_BY.get(kind) ?? kind}`),
    ),
  ...(consumers.length > SHOWN ? [`and ${amount(consumers.length - SHOWN, 'more consumer')}`] : []),
];
/**
 * CAs that stay trusted without their keys, and that this distrust takes out of the bundles: by their own number, or with the CA that they have
 * vouched for. No object shows the leaves that they stay trusted for.
 */
const retainedIn = (
  { plan: { retained }, observation }: AuthorityStanding,
  generation: number,
): Plan['retained'] => {
  const { seen, responsibilities, now } = observation;
  const { actions } = plan({ ...seen, distrust: [generation] }, responsibilities.policy, now);
  const going = actions.flatMap((action) => (action.kind === 'distrust' ? action.generations : []));
  return retained.filter(({ generation: number }) => number === generation || going.includes(number));
};
/** What still uses leaves of them, each with the reason, as `handover status` names it. */
const usersOf = (retained: Plan['retained']): readonly string[] =>
  retained.flatMap(({ generation, elsewhere, unseen }) => [
    ...elsewhere,
    ...(unseen ? [`any program with a leaf of CA generation ${generation} that cannot be seen`] : []),
  ]);
const failingElsewhere = (users: readonly string[]): readonly string[] => [
  ...users.slice(0, SHOWN).map((user) => printable(`fails until it shows a newer certificate: ${user}`)),
  ...(users.length > SHOWN ? [`and ${users.length - SHOWN} more`] : []),
];
const wholeNumber = (text: string): number => {
  if (!/^\d{1,9}$/.test(text))
    throw usageError(`--generation ${text} is not a generation; see handover status`);
  return Number(text);
};

/** How long a request may take to be taken up, and the restarts that follow where this process does them. */
const TIMEOUT = { request: duration(30_000), restarts: duration(600_000) };

const isDistrusted =
  (generation: number) =>
  ({ observation }: AuthorityStanding): boolean => {
    const now = observation.record?.state.generations.find(({ number }) => number === generation);
    return now === undefined || now.role === 'distrusted';
  };

const unknownGeneration = (
  authority: string,
  generation: number,
  there: readonly { readonly generation: number; readonly role: string }[],
): HandoverError => {
  const list = there.map(({ generation: number, role }) => `${number} (${role})`).join(', ');
  return new CliError(
    'GENERATION_UNKNOWN',
    `${authority} has no generation ${generation}; it has ${list === '' ? 'none' : list}`,
    { path: authority },
  );
};

/** Asks by the annotation on the Authority. Which connections would fail follows from files that this account may not read. */
const distrustPublic = async (
  view: PublicView,
  authority: string,
  flags: Flags,
  context: Context,
): Promise<void> => {
  const { generation } = flags;
  const before = await view.authority(authority);
  const roleIn = ({ generations }: PublicAuthority): string | undefined =>
    generations.find(({ generation: number }) => number === generation)?.role;
  const role = roleIn(before);
  if (role === undefined) throw unknownGeneration(authority, generation, before.generations);
  const isOver = (looked: PublicAuthority): boolean => (roleIn(looked) ?? 'distrusted') === 'distrusted';
  if (flags.yes === true && role !== 'distrusted') {
    await view.distrust(authority, generation);
    const look = (): Promise<PublicAuthority> => view.authority(authority);
    const advice = 'the operator goes on with it; check that one runs';
    await waitForStatus(await look(), isOver, { context, look, timeout: TIMEOUT.request, advice });
  }
  const done = flags.yes === true || role === 'distrusted';
  const consumers = before.consumers.map(({ name, kind }) => ({ name, kind }));
  if (flags.json === true) {
    const unknown = { wouldFail: [], wouldFailCount: null, wouldFailElsewhere: [] };
    const document = { authority, generation, done, ...unknown, consumers, hooks: [] };
    context.stdout.write(`${JSON.stringify(document)}\n`);
    return;
  }
  const lines = [
    'which connections would fail is not known to an account that may not read Secrets',
    ...failingConsumers(consumers),
    done
      ? `CA generation ${generation} of ${authority} is distrusted`
      : `nothing was changed; add --yes to distrust CA generation ${generation}`,
  ];
  context.stdout.write(`${lines.map(printable).join('\n')}\n`);
};

export const define: Define = (command, context) => {
  askedOptions(homeOptions(command))
    .argument('<auth>', 'the authority: namespace/name')
    .requiredOption('--generation <n>', 'the CA generation to distrust', wholeNumber)
    .option('--yes', 'do it; without this flag only list the connections that would fail')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
For a CA whose key may be stolen: changes every bundle and every leaf at once, and destroys the key. Programs that have not
loaded the new files by then fail until they have; the command lists those pairs. With --preset or -f this command does the
work itself, for certificates of handover certgen that no operator manages.

Examples:
  $ handover distrust default/internal --generation 3 --home dir:/etc/handover
  $ handover distrust default/internal --generation 3 --yes --home dir:/etc/handover
  $ handover distrust envoy-gateway-system/envoy-gateway-ca --generation 1 --preset envoy-gateway --yes --home kube`,
    )
    .action(async (auth: string, flags: Flags) => {
      const authority = authorityArgument(auth);
      const isDone = await withPublic(flags, context, (view) =>
        distrustPublic(view, authority, flags, context),
      );
      if (isDone) return;
      await withHome(flags, context, async (open) => {
        const { home } = open;
        const snapshot = await open.read();
        authorityIn(snapshot.catalogue, authority);
        const { generation } = flags;
        const state = (await snapshot.authorities.load(authority))?.state;
        const found = state?.generations.find(({ number }) => number === generation);
        if (found === undefined)
          throw unknownGeneration(
            authority,
            generation,
            (state?.generations ?? []).map(({ number, role }) => ({ generation: number, role })),
          );
        const already = found.role === 'distrusted';
        const isAsked = flags.yes === true && !already;
        const orUnknown = (error: unknown): undefined => {
          if (!isAsked) throw error;
          const { code, line } = endingOf(error, 'distrust');
          const said = `the dry run failed, so the peers that would fail are not known: ${line}`;
          context.stderr.write(`${flags.json === true ? errorJson(code, said) : said}\n`);
        };
        const before = await standingOf(open.read, authority).catch(orUnknown);
        // Asked for first: a dry run that fails or takes long must not keep a stolen key in trust.
        if (isAsked) await home.requests.ask({ authority, distrust: generation });
        const asked = { distrust: [generation] };
        const was = before && materialIn(before.observation);
        const matrix = already
          ? undefined
          : await verifyAuthority(home, snapshot, authority, asked, was).catch(orUnknown);
        const consumers = (before?.status.consumers ?? []).map(({ name, kind }) => ({ name, kind }));
        const elsewhere = before === undefined ? [] : usersOf(retainedIn(before, generation));
        const timeout = (flags.preset ?? flags.file) === undefined ? TIMEOUT.request : TIMEOUT.restarts;
        const after = isAsked
          ? await carryOut(open, authority, context, { timeout, until: isDistrusted(generation) })
          : undefined;
        const hooks = after?.status.hooks ?? [];
        const done = flags.yes === true || already;
        if (flags.json === true) {
          const wouldFail = matrix?.pairs.filter(({ now, next }) => !now.ok || !next.ok) ?? [];
          const wouldFailCount = already ? 0 : (matrix?.failingCount ?? null);
          const document = {
            authority,
            generation,
            done,
            wouldFail,
            wouldFailCount,
            wouldFailElsewhere: elsewhere,
            consumers,
            hooks,
          };
          context.stdout.write(`${JSON.stringify(document)}\n`);
          return;
        }
        const told = matrix === undefined ? [] : failingLines([matrix], SHOWN);
        const isUnknown = matrix === undefined && !already;
        const lines = [
          ...(told.length === 0 && elsewhere.length === 0 && !isUnknown
            ? ['no connection would fail']
            : told),
          ...(told.length === 0 ? [] : failingConsumers(consumers)),
          ...failingElsewhere(elsewhere),
          done
            ? `CA generation ${generation} of ${authority} is distrusted`
            : `nothing was changed; add --yes to distrust CA generation ${generation}`,
        ];
        context.stdout.write(`${lines.map(printable).join('\n')}\n`);
        for (const line of failedHookLines(hooks)) context.stdout.write(`${line}\n`);
      });
    });
};
