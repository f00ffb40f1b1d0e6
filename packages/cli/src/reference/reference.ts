import { ANNOTATIONS, type AnnotationOwner } from '@handover/core';
import { Metrics } from '../metrics/metrics.ts';
import { METRICS } from '../metrics/names.ts';
import { commandsPage } from './commands.ts';
import { ERROR_CODES } from './error-codes.ts';
import { issuedPage } from './issued.ts';
import { code, page, table } from './markdown.ts';
import { resourcesPage } from './resources.ts';
import { statusDocumentPage, statusDocumentSchema } from './status-document.ts';

/** Types from /metrics itself. */
const typesOf = async (): Promise<ReadonlyMap<string, string>> => {
  const { body } = await new Metrics({ version: '0', now: () => 0 }).page();
  return new Map(
    [...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
};

const metricsPage = async (): Promise<string> => {
  const types = await typesOf();
  return page(
    'Metrics',
    'Served by `handover operator` on `--health-address`, and by `handover run --metrics-address`. Only the leader shows authorities. Times are seconds since 1970; resources are `namespace/name`. There are also `process_*` and `nodejs_*`. How to collect them: [monitoring](../recipes/monitoring.md).',
    table(
      ['metric', 'type', 'labels', 'meaning'],
      Object.values(METRICS).map(([name, help, labels]) => [
        code(name),
        types.get(name) ?? 'not served',
        labels.map(code).join(', '),
        help,
      ]),
    ),
  );
};

const errorsPage = (): string =>
  page(
    'Errors',
    'Every error is one line on stderr, `CODE: what; what to do`; with `--json` it is `{"error": {"code": …, "message": …}}`. The codes are stable. Exit code 1, for `USAGE` 2, for `UNFINISHED` 70; `handover check` prints UNKNOWN and exits 3. The metric `handover_failures_total` counts errors by code.',
    table(
      ['code', 'means', 'what to do'],
      Object.entries(ERROR_CODES)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, { means, todo }]) => [code(name), means, todo]),
    ),
  );

const GROUPS: readonly (readonly [title: string, intro: string, owners: readonly AnnotationOwner[]])[] = [
  ['Yours', 'How to use them: [annotations](../recipes/annotations.md).', ['you']],
  ['Written by Handover', 'Do not change them.', ['Handover', 'kubectl']],
  ['cainjector’s', 'Honoured with `handover operator --compat cainjector`.', ['cainjector']],
  ['service-ca’s', 'Honoured with `--compat service-ca`.', ['service-ca']],
  ['trust-manager’s', 'On the targets of Bundles, with `--compat trust-manager`.', ['trust-manager']],
  ['Reloader’s', 'Honoured with `--compat reloader`.', ['Reloader']],
];

const annotationsPage = (): string =>
  page(
    'Annotations and labels',
    ...GROUPS.flatMap(([title, intro, owners]) => [
      `## ${title}`,
      intro,
      table(
        ['name', 'value', 'on', 'means'],
        ANNOTATIONS.filter(({ owner }) => owners.includes(owner)).map(({ name, value, on, means, is }) => [
          code(name),
          value,
          is === 'label' ? `${on} (label)` : on,
          means,
        ]),
      ),
    ]),
  );

/** docs/reference, by file name, made from the code. */
export const referencePages = async (): Promise<Readonly<Record<string, string>>> => ({
  'annotations.md': annotationsPage(),
  'commands.md': await commandsPage(),
  'errors.md': errorsPage(),
  'issuance-log.md': issuedPage(),
  'metrics.md': await metricsPage(),
  'resources.md': resourcesPage(),
  'status-document.md': statusDocumentPage(),
  'status-document.schema.json': statusDocumentSchema(),
});
