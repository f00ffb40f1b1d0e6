import { type Case, GROUPS } from './cases.ts';
import { JUDGES, type JudgeName } from './judges.ts';
import { KEYS } from './world.ts';

export type Said = 'accepts' | 'refuses' | 'mixed';
/** A judge's verdict on a case, over all keys and both purposes. */
export type Verdicts = (judge: JudgeName, one: Case) => Said;

const NAMES = Object.keys(JUDGES) as readonly JudgeName[];
const SIGNS = { accepts: '✓', refuses: '✗', mixed: '?' } as const satisfies Record<Said, string>;

export const expected = (judge: JudgeName, { accepted, except }: Case): Said =>
  accepted === (except?.[judge] === undefined) ? 'accepts' : 'refuses';

const table = (rows: readonly (readonly string[])[]): string => {
  const widths =
    rows[0]?.map((_, column) => Math.max(3, ...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n');
};

const VERSIONS = /^Last written with .*$/m;
/** Everything but the versions, which depend on the machine that wrote the file. */
export const withoutVersions = (text: string): string => text.replace(VERSIONS, '');

/** docs/verdicts.md. */
export function matrix(verdicts: Verdicts, versions: string): string {
  const reasons: string[] = [];
  const cell = (judge: JudgeName, one: Case): string => {
    const why = one.except?.[judge];
    if (why === undefined) return SIGNS[verdicts(judge, one)];
    if (!reasons.includes(why)) reasons.push(why);
    return `**${SIGNS[verdicts(judge, one)]}** (${reasons.indexOf(why) + 1})`;
  };
  const sections = GROUPS.map(({ title, cases }) => {
    const rows = cases.map((one) => [
      one.chain.join(' + '),
      `[${one.bundle.join(', ')}]`,
      ...NAMES.map((judge) => cell(judge, one)),
    ]);
    return `## ${title}\n\n${table([['shown', 'bundle', ...NAMES.map((name) => JUDGES[name])], ...rows])}\n`;
  });
  const notes = reasons.map((why, index) => `${index + 1}. ${why}`).join('\n');
  return `# Verdicts of other verifiers

<!-- Written by \`npm run test:verdicts -- --update\`; the same test fails when this file differs from what the verifiers say. -->

Do other verifiers accept every chain of a rotation? Handover's own code issued these chains. Each verifier holds
the bundle: ✓ accepts, ✗ refuses. How they are asked, and what that found: [the test](../test/verdicts/README.md).

- **1, 2, 3** are the CAs of three generations, **leaf n** is a leaf of generation n, **X21** is the
  cross-certificate of CA 2 signed by CA 1, **X32** that of CA 3 signed by CA 2.
- **†** expired, and with it everything it signed, which is how Handover issues; **X2(1†)** is CA 2 signed by 1†.
- **‡** the same CA, name and key, issued again with an end that has passed. Handover never issues this; it is here because the
  verifiers differ on it.
- Every case is judged with ${Object.keys(KEYS).length} sets of keys (${Object.keys(KEYS).join('; ')}), as the chain of a server and as that of a
  client. Each cell covers all of them: the test fails if they differ.

Handover is \`verifyChain\` of \`packages/material\`, Node a real handshake, OpenSSL \`openssl verify\`, BoringSSL a real handshake
with Envoy, Go \`crypto/x509\`, Java the PKIX trust manager of its TLS, GnuTLS \`certtool --verify\`, rustls-webpki what rustls verifies with.

Last written with ${versions}.

${sections.join('\n')}
## Where a verifier differs, and why

${notes}
`;
}
