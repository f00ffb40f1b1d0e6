import { staticDamage, strandedIn, survey, unusableLine, verifyAuthority } from '@handover/engine';
import { askedOptions } from '../asked-resources.ts';
import type { Define } from '../context.ts';
import { failingLines, trustTable } from '../directory/trust-table.ts';
import { authorityOrHome, type HomeFlags, homeOptions, withHome } from '../open-home.ts';
import { amount, printable } from '../printable.ts';

const SHOWN = 20;

export const define: Define = (command, context) => {
  askedOptions(homeOptions(command))
    .argument('[auth]', 'one authority: namespace/name; or a directory, in place of --home')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Reads every file of every leaf and bundle as it is now: present, readable, key and certificate belong together, valid now. Then
verifies every leaf, with its cross-certificates, against every bundle, with the same rules as OpenSSL and Node: the current
files and those after the next step, whichever side loads first. Exit code 1 if anything is wrong with a file,
if a pair fails or would fail, if an authority cannot be looked at, or if a resource names one that is not declared; each is
named.
With more than 10,000 pairs, --json lists the first 1,000 that fail, and counts the rest.

Examples:
  $ handover verify default/internal --home dir:/etc/handover
  $ handover verify --home kube`,
    )
    .action((auth: string | undefined, given: HomeFlags & { json?: true }) => {
      const { flags, only } = authorityOrHome(command, given, auth);
      return withHome(flags, context, async ({ home, read }) => {
        const snapshot = await read();
        const { found: matrices, unusable } = await survey(snapshot, only, (id) =>
          verifyAuthority(home, snapshot, id),
        );
        const failing = matrices.reduce((count, { failingCount }) => count + failingCount, 0);
        const stranded = await strandedIn(snapshot, only);
        const trustBundles = only === undefined ? await staticDamage(snapshot) : [];
        const problems = [...matrices.flatMap((matrix) => matrix.problems), ...trustBundles, ...stranded];
        const ok = failing === 0 && problems.length === 0 && unusable.length === 0;
        if (!ok) context.exitCode = 1;
        if (flags.json === true) {
          const authorities = matrices.map(({ columns: _columns, readers: _readers, ...matrix }) => matrix);
          context.stdout.write(`${JSON.stringify({ ok, authorities, unusable, trustBundles, stranded })}\n`);
          return;
        }
        for (const matrix of matrices) {
          const lines = [
            matrix.authority,
            ...matrix.step.map((step) => `next: ${step}`),
            ...trustTable(matrix),
          ];
          context.stdout.write(`${lines.map(printable).join('\n')}\n`);
        }
        for (const one of unusable.slice(0, SHOWN)) context.stdout.write(`${printable(unusableLine(one))}\n`);
        if (unusable.length > SHOWN)
          context.stdout.write(`and ${amount(unusable.length - SHOWN, 'more such resource')}\n`);
        for (const { object, problem } of problems.slice(0, SHOWN))
          context.stdout.write(`${printable(`${object}: ${problem}`)}\n`);
        if (problems.length > SHOWN)
          context.stdout.write(`and ${amount(problems.length - SHOWN, 'more problem')}\n`);
        for (const line of failingLines(matrices, SHOWN)) context.stdout.write(`${line}\n`);
      });
    });
};
