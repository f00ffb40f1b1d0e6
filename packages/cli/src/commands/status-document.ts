import { DOCUMENT_FIELDS, documentIn } from '@handover/engine';
import { iso } from '@handover/material';
import { Argument } from 'commander';
import type { Define } from '../context.ts';
import { CliError } from '../error.ts';
import { readInput } from '../inspect/read-input.ts';
import { printable } from '../printable.ts';

const MAX_BYTES = 64 * 1024;

/** The document as Handover reads it, or why it is no evidence. */
const documentOf = (bytes: Buffer, now: number): ReturnType<typeof documentIn> => {
  if (bytes.length > MAX_BYTES) return 'is over 64 KiB, and Handover reads no more';
  const document = documentIn(bytes.toString('utf8'), now);
  return typeof document !== 'string' && document.sources.length === 0
    ? 'has an empty list in sources'
    : document;
};

export const define: Define = (command, context) => {
  command
    .usage('check [options] <file>')
    .addArgument(new Argument('<action>', 'what to do').choices(['check']))
    .argument('<file>', 'a status document, or - for standard input')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Says what a status document is evidence for, as Handover reads it: whether it answers for a consumer that verifies, and for a
consumer that presents a leaf. The fields: docs/reference/status-document.md.

Exit code 1 if it is no evidence at all, 0 otherwise.

Examples:
  $ handover status-document check /run/web/status.json
  $ curl -s http://127.0.0.1:9464/handover/status | handover status-document check -`,
    )
    .action(async (_: 'check', path: string, options: { json?: true }) => {
      const document = documentOf(await readInput(path, context.stdin), context.clock.now());
      const name = path === '-' ? 'standard input' : path;
      if (typeof document === 'string')
        throw new CliError(
          'STATUS_DOCUMENT',
          `${name} ${document}; the fields are in docs/reference/status-document.md`,
          { path },
        );
      const { sources } = document;
      const listed = new Set(sources.flatMap(({ anchors = [] }) => anchors)).size;
      const shown = sources.flatMap(({ leaf }) => leaf ?? []);
      const issuerKeyIds = shown.flatMap(({ issuerKeyId }) => issuerKeyId ?? []);
      const fingerprints = shown.flatMap(({ fingerprint }) => fingerprint ?? []);
      // One that names neither may be older than all others.
      const presents =
        shown.length > 0 && shown.every((leaf) => (leaf.issuerKeyId ?? leaf.fingerprint) !== undefined);
      if (listed === 0 && !presents) context.exitCode = 1;
      if (options.json === true) {
        const found = {
          at: iso(document.at),
          verifies: listed > 0,
          presents,
        };
        context.stdout.write(
          `${JSON.stringify({ ...found, anchors: listed, issuerKeyIds, fingerprints }, undefined, 2)}\n`,
        );
        return;
      }
      const lacks = (role: string): string =>
        `no: it has no ${DOCUMENT_FIELDS.find(({ neededBy }) => neededBy === role)?.name}`;
      const said =
        issuerKeyIds.length > 0
          ? `signed by the key ${printable(issuerKeyIds.join(', '))}`
          : `if an object of its Authority holds ${printable(fingerprints.join(', '))}`;
      context.stdout.write(
        `evidence for a consumer that verifies:       ${listed > 0 ? `yes, of ${listed} CA ${listed === 1 ? 'certificate' : 'certificates'}` : lacks('verifies')}
evidence for a consumer that presents a leaf: ${presents ? `yes, ${said}` : lacks('presents')}
`,
      );
    });
};
