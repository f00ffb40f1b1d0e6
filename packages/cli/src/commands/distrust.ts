import { type AuthorityId, advance, authorityIn, verifyAuthority } from '@handover/engine';
import { HandoverError } from '@handover/material';
import { askedOptions } from '../asked-resources.ts';
import type { Context, Define } from '../context.ts';
import { carryOut, type Progress } from '../directory/carry-out.ts';
import { authorityArgument, homePath, openHome } from '../directory/open-home.ts';
import { pause } from '../directory/pause.ts';
import { failingPairs } from '../directory/trust-table.ts';
import { usageError } from '../error-line.ts';
import { type HomeFlags, homeOptions, type OpenHome, withHome } from '../open-home.ts';

interface Flags extends HomeFlags {
  readonly generation: number;
  readonly yes?: true;
  readonly json?: true;
}

const SHOWN = 20;
const wholeNumber = (text: string): number => {
  if (!/^\d{1,9}$/.test(text))
    throw usageError(`--generation ${text} is not a generation; see handover status`);
  return Number(text);
};

const LOOK_EVERY_MS = 1_000;

/** Carries it out, and stays until whoever has to be restarted for it is being restarted. */
const here = async ({ home, catalogue }: OpenHome, id: AuthorityId, context: Context): Promise<void> => {
  const signal = context.untilStopped();
  while ((await advance(home, await catalogue(), id)).restartsDue && !signal.aborted)
    await pause(LOOK_EVERY_MS, signal);
};

export const define: Define = (command, context) => {
  askedOptions(homeOptions(command))
    .argument('<auth>', 'the authority: namespace/name')
    .requiredOption('--generation <n>', 'the generation that is no longer to be trusted', wholeNumber)
    .option('--yes', 'do it; without it only say who would fail')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
For a CA whose key may be in the wrong hands: every bundle and every leaf changes at once, its key is destroyed. Whoever
has not loaded the new files by then fails until it has; those pairs are printed first. With --preset or -f it is done here, for
certificates of handover certgen that no operator keeps.

Examples:
  $ handover distrust default/internal --generation 3 --home dir:/etc/handover
  $ handover distrust default/internal --generation 3 --yes --home dir:/etc/handover
  $ handover distrust envoy-gateway-system/envoy-gateway-ca --generation 1 --preset envoy-gateway --yes --home kube`,
    )
    .action((auth: string, flags: Flags) =>
      withHome(flags, context, async (open) => {
        const { home, catalogue: load, view, certgen } = open;
        const authority = authorityArgument(auth);
        const catalogue = await load();
        authorityIn(catalogue, authority);
        const { generation } = flags;
        const state = (await home.authorities.load(authority))?.state;
        const found = state?.generations.find(({ number }) => number === generation);
        if (found === undefined) {
          const there =
            state?.generations.map(({ number, role }) => `${number} (${role})`).join(', ') ?? 'none';
          throw new HandoverError(
            'GENERATION_UNKNOWN',
            `${authority} has no generation ${generation}; it has ${there}`,
            { path: authority },
          );
        }
        const already = found.role === 'distrusted';
        const matrix = await verifyAuthority(home, catalogue, authority, { distrust: [generation] });
        const failing = already ? [] : failingPairs(matrix);
        if (flags.yes === true && !already) {
          const wait = {
            ms: 30_000,
            until: ({ record }: Progress) => {
              const now = record?.state.generations.find(({ number }) => number === generation);
              return now === undefined || now.role === 'distrusted';
            },
          };
          if (certgen !== undefined) {
            certgen.distrust(authority, generation);
            await here(open, authority, context);
          } else if (view === undefined) {
            const directory = openHome(homePath(flags.home), context);
            await directory.requests.ask({ authority, distrust: generation }, context.now());
            await carryOut(directory, authority, context, wait);
          } else {
            const { watchOperator } = await import('../kubernetes/carry-out.ts');
            await view.ask(authority, { distrust: generation });
            await watchOperator(view, authority, context, wait);
          }
        }
        const done = flags.yes === true || already;
        if (flags.json === true) {
          const pairs = matrix.pairs.filter(({ now, next }) => !now.ok || !next.ok);
          context.stdout.write(
            `${JSON.stringify({ authority, generation, done, wouldFail: already ? [] : pairs })}\n`,
          );
          return;
        }
        const lines = [
          ...(failing.length === 0 ? ['nobody would fail'] : failing.slice(0, SHOWN)),
          ...(failing.length > SHOWN ? [`and ${failing.length - SHOWN} more pairs`] : []),
          done
            ? `generation ${generation} of ${authority} is distrusted`
            : 'nothing was done; say --yes to distrust it',
        ];
        context.stdout.write(`${lines.join('\n')}\n`);
      }),
    );
};
