import { ANNOTATIONS, type AnnotationOwner } from '@handover/core';
import type { AuthorityStatus, IssuedEntry } from '@handover/engine';
import { crds } from '@handover/install';
import { Metrics } from '../metrics/metrics.ts';
import { METRICS } from '../metrics/names.ts';
import { commandsPage } from './commands.ts';
import { ERROR_CODES } from './error-codes.ts';
import { code, page, table } from './markdown.ts';
import { statusDocumentPage, statusDocumentSchema } from './status-document.ts';

interface Schema {
  readonly type: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
}

const typeOf = (schema: Schema): string => {
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.type === 'array') return `list of ${schema.items === undefined ? 'any' : typeOf(schema.items)}`;
  if (schema.additionalProperties !== undefined) return `map of ${typeOf(schema.additionalProperties)}`;
  return schema.type;
};

type Row = readonly [field: string, type: string, preset: string, meaning: string];

/** The description ends with the default, for `kubectl explain`. */
const DEFAULT = /\s*Default:? (.+?)\.?$/;

const rowsOf = (schema: Schema, path: string): readonly Row[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, child]): readonly Row[] => {
    const place = path === '' ? name : `${path}.${name}`;
    const { description = '' } = child;
    if (description === '') throw new TypeError(`${place} has no description`);
    const preset = DEFAULT.exec(description)?.[1];
    const must = schema.required?.includes(name) === true;
    const row: Row = [
      code(place),
      typeOf(child),
      preset === undefined ? (must ? 'required' : '') : code(preset),
      preset === undefined ? description : description.replace(DEFAULT, ''),
    ];
    const inner = child.items ?? child.additionalProperties;
    return [row, ...rowsOf(child, place), ...(inner === undefined ? [] : rowsOf(inner, `${place}[]`))];
  });

const HEAD = ['field', 'type', 'default', 'meaning'] as const;

const resourcesPage = (): string =>
  page(
    'Resources',
    'The same YAML in a directory and in a cluster, `apiVersion: handover.dev/v1alpha1`. Durations are written `30s`, `10m`, `36h`, `90d`, `18mo`, `5y`; a month has 30 days, a year 365. In a cluster `kubectl explain authority.spec` shows the same.',
    ...crds().flatMap(({ spec: { names, scope, versions } }) => {
      const schema = versions[0]?.schema.openAPIV3Schema as unknown as Schema;
      const columns = versions[0]?.additionalPrinterColumns ?? [];
      return [
        `## ${names.kind}`,
        `${schema.description} ${scope === 'Cluster' ? 'Cluster-scoped' : 'Namespaced'}; \`kubectl get ${names.shortNames[0]}\`.`,
        table(HEAD, rowsOf({ type: 'object', properties: { spec: schema.properties?.spec as Schema } }, '')),
        `### Status of ${names.kind}`,
        table(
          ['field', 'type', 'meaning'],
          rowsOf({ type: 'object', properties: { status: schema.properties?.status as Schema } }, '').map(
            ([field, type, , meaning]) => [field, type, meaning],
          ),
        ),
        `\`kubectl get\` shows: ${columns.map(({ name, priority }) => `${name}${priority === undefined ? '' : ' (wide)'}`).join(', ')}.`,
      ];
    }),
  );

/** Typed by the entry itself: a field without a description does not compile. */
const FIELDS = {
  at: 'When it was issued, by the clock of the home.',
  kind: '`ca`, `cross` (a cross-certificate), `leaf`, or `canary`: a client certificate of ten minutes without names, which tests whether a server trusts a CA.',
  authority: '`namespace/name` of the Authority.',
  generation: 'The CA generation that signed it; for a CA, its own.',
  certifies: 'For a cross-certificate: the CA generation that it certifies.',
  serial: 'Hex.',
  fingerprint: 'SHA-256 of the certificate, hex.',
  subject: 'In the notation of RFC 4514.',
  dnsNames: 'Subject alternative names.',
  ipAddresses: 'Subject alternative names.',
  uris: 'Subject alternative names.',
  usages: 'Extended key usages of a leaf, key usages of a CA.',
  notBefore: 'ISO 8601.',
  notAfter: 'ISO 8601.',
  for: 'The object that it was issued for: `kind`, `namespace`, `name`, and in a cluster `uid`.',
  askedBy:
    '`via`: `resource`, `annotation`, `request` (a command) or `schedule`. On one machine the `user` and `uid` of the process that requested it. In a cluster `manager`: the client’s name in `managedFields`; the API server’s audit log has the user.',
  why: 'Why, in a sentence.',
} as const satisfies Record<keyof IssuedEntry, string>;

const STEP = {
  at: 'When the step was taken.',
  step: '`mint`, `activate`, `retire`, `distrust` or `distrust-done`.',
  generations: 'The CA generations concerned.',
  replacement: 'For a distrust: the CA generation that signs from then on.',
  rotation: 'Id of the rotation.',
  askedBy: 'As above, on the step that started the rotation.',
  why: 'Why, in a sentence.',
  takenBy: 'The process that took it: the identity in the operator’s Lease, or process and host.',
  evidence:
    'What opened the gate: `consumer`, `by` (the kind of evidence; `none`: the step did not wait for it), `at`. The first 50; old steps keep only the counts.',
  counts: 'Number of consumers per kind of evidence.',
  revision: 'Revision of the state that the step wrote.',
} as const satisfies Record<keyof NonNullable<AuthorityStatus['history']>[number], string>;

const rows = (fields: Readonly<Record<string, string>>): readonly (readonly string[])[] =>
  Object.entries(fields).map(([field, meaning]) => [code(field), meaning]);

const issuedPage = (): string =>
  page(
    'Issuance log and history',
    'Where they are and how to read them: [monitoring](../recipes/monitoring.md#which-certificates-were-issued).',
    '## An entry of the issuance log',
    'One JSON document per line and certificate. The operator’s lines have `level` and `event: "issued"` as well.',
    table(['field', 'meaning'], rows(FIELDS)),
    '## A step in the history of an Authority',
    'In `handover status AUTH --json`, under `history`, oldest first: the last 50 steps, 64 KiB at most.',
    table(['field', 'meaning'], rows(STEP)),
  );

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
