import { endOfDay } from '@handover/core';
import {
  type Adoption,
  adopt,
  adoptionFrom,
  authorityIn,
  handing,
  isAdopted,
  type TrustMatrix,
  verifyAuthority,
} from '@handover/engine';
import { type Certificate, type Instant, iso } from '@handover/material';
import type { Define } from '../context.ts';
import { authorityArgument, homePath, openHome } from '../directory/open-home.ts';
import { failingLines } from '../directory/trust-table.ts';
import { usageError } from '../error-line.ts';
import { readNamed } from '../named-file.ts';
import { homeOption } from '../open-home.ts';
import { printable } from '../printable.ts';

interface Flags {
  readonly home: string;
  readonly certificate: string;
  readonly key?: string;
  readonly lastLeafEnds?: Instant;
  readonly yes?: true;
  readonly json?: true;
}

const day = (text: string): Instant => {
  const end = endOfDay(text);
  if (end === undefined)
    throw usageError(`--last-leaf-ends: "${text}" is not a day; write it like 2030-12-31`);
  return end;
};

/** Far more than a CA and its key take. */
const MOST_BYTES = 256 * 1024;
const SHOWN = 20;

const ELSEWHERE =
  'In a cluster put the CA into a Secret and name it in spec.adopt.secret of the Authority: docs/recipes/adopt-a-ca.md';

const describe = ({ subject, fingerprint, notAfter }: Certificate): string =>
  `${subject} (SHA-256 ${fingerprint.slice(0, 16)}…, until ${iso(notAfter)})`;

const linesOf = (
  authority: string,
  { certificates, key, leavesUntil }: Adoption,
  done: boolean,
  matrix: TrustMatrix | undefined,
): readonly string[] => {
  const [ca] = certificates;
  const would = done ? '' : 'would ';
  const what = ca === undefined ? '' : describe(ca);
  return [
    key === undefined
      ? `${authority} ${would}trust${done ? 's' : ''} ${what}, without its key: a new CA replaces it, trust first`
      : `${authority} ${would}sign${done ? 's' : ''} with ${what}: it is CA generation 1`,
    leavesUntil === undefined
      ? 'certificates that it signed before and that no file here shows are refused once it is replaced; to keep it trusted for them, give --last-leaf-ends'
      : `when it is replaced it stays trusted${key === undefined ? '' : ', its key destroyed,'} for certificates that it signed before, until ${iso(leavesUntil).slice(0, 10)}; --last-leaf-ends shortens this`,
    ...(matrix?.problems ?? [])
      .filter(({ problem }) => !problem.endsWith('missing'))
      .map(({ object, problem }) => `${object}: ${problem}`),
    ...(matrix === undefined ? [] : failingLines([matrix], SHOWN)),
  ].slice(0, SHOWN);
};

export const define: Define = (command, context) => {
  command
    .argument('<auth>', 'the authority: namespace/name')
    .requiredOption('--certificate <file>', 'certificate of the CA, as PEM')
    .option('--key <file>', 'its private key, as PEM without a passphrase: PKCS#8, PKCS#1 or SEC 1')
    .option(
      '--last-leaf-ends <date>',
      'day on which the last certificate ends that it signed before, such as 2030-12-31',
      day,
    )
    .option('--yes', 'do it; without this flag only say what would change')
    .addOption(homeOption('directory: dir:PATH'))
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
For a CA of openssl, easy-rsa, step, Caddy or mkcert. The Authority must be declared in the directory and have no CA yet: adopt
before its first \`handover run\`. With --key the CA becomes generation 1: it signs the leaves, and the cross-certificate of its
successor at the next rotation. Without --key it stays trusted while a new CA is introduced, trust first. The key is copied
into the directory's state, of mode 0600; remove your own copy afterwards.

Examples:
  $ handover adopt default/internal --certificate ca.crt --key ca.key --home dir:/etc/handover
  $ handover adopt default/internal --certificate ca.crt --key ca.key --yes --home dir:/etc/handover`,
    )
    .action(async (auth: string, flags: Flags) => {
      const path = homePath(flags.home, ELSEWHERE);
      const home = openHome(path, context);
      const authority = authorityArgument(auth);
      authorityIn(home.load(), authority);
      const adoption = await adoptionFrom(
        {
          certificate: readNamed(flags.certificate, MOST_BYTES),
          key: flags.key === undefined ? undefined : readNamed(flags.key, MOST_BYTES),
          lastLeafEnds: flags.lastLeafEnds,
        },
        { certificate: flags.certificate, key: flags.key ?? '' },
        home.clock.now(),
      );
      const isThere = await isAdopted(home, authority, adoption);
      const given = handing(home, authority, adoption);
      const matrix = isThere ? undefined : await verifyAuthority(given, await given.fresh(), authority);
      if (flags.yes === true && !isThere) await adopt(home, authority, adoption);
      const done = isThere || flags.yes === true;
      if (flags.json === true) {
        const document = {
          authority,
          done,
          fingerprints: adoption.certificates.map(({ fingerprint }) => fingerprint),
          withKey: adoption.key !== undefined,
          trustedUntil: adoption.leavesUntil === undefined ? null : iso(adoption.leavesUntil),
          problems: matrix?.problems ?? [],
          wouldFail: matrix?.pairs.filter(({ now, next }) => !now.ok || !next.ok) ?? [],
        };
        context.stdout.write(`${JSON.stringify(document)}\n`);
        return;
      }
      const left =
        done && flags.key !== undefined ? [`its key is in ${path}/state now; remove ${flags.key}`] : [];
      const last = done ? `next: handover run ${path}` : 'nothing was changed; add --yes to adopt the CA';
      for (const line of [...linesOf(authority, adoption, done, matrix), ...left, last])
        context.stdout.write(`${printable(line)}\n`);
    });
};
