import { EVIDENCE } from '@handover/core';
import { DOCUMENT_FIELDS, METRICS_BOUNDS, METRICS_LABELS, type NeededBy } from '@handover/engine';
import { LEAF_METRIC, TRUST_METRIC } from '@handover/material';
import { code, page, table } from './markdown.ts';

const NEEDED: Readonly<Record<NeededBy, string>> = {
  'every consumer': 'always',
  verifies: 'if the consumer verifies',
  presents: 'if the consumer presents a leaf',
  pods: 'for pods',
  none: 'no',
};

const ANCHOR = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const LEAF = '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752';

const EXAMPLE = {
  version: 1,
  at: '2027-01-01T12:00:00.000Z',
  pid: 4711,
  sources: [{ anchors: [ANCHOR], leaf: { fingerprint: LEAF } }],
};

const EXAMPLE_PAGE = `# TYPE ${TRUST_METRIC} gauge
${TRUST_METRIC}{sha256="${ANCHOR}"} 1
# TYPE ${LEAF_METRIC} gauge
${LEAF_METRIC}{sha256="${LEAF}"} 1`;

const fenced = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;
const json = (value: unknown): string => JSON.stringify(value, undefined, 2);

export const statusDocumentPage = (): string =>
  page(
    'The status document',
    'What a program says of itself, as evidence: a JSON document in a file, or at the path `/handover/status` of a unix socket or URL (`consumers[].status` of an [Authority](resources.md#authority)). `@handover/runtime` and the clients for other languages write it; [any program can](../evidence.md). A program with metrics can show [the same as metrics](#as-metrics).',
    'A document that cannot be read, is too old, or lacks the field for what its consumer does is **no evidence**: the next step waits for it, `handover status` says why, and no time stands in for it.',
    table(
      ['field', 'type', 'required', 'meaning'],
      DOCUMENT_FIELDS.map(({ name, type, neededBy, meaning }) => [
        code(name),
        type,
        NEEDED[neededBy],
        meaning,
      ]),
    ),
    'A document has 64 KiB at most. Other fields are ignored. `handover status-document check FILE` says what a document is evidence for. The same as a [JSON Schema](status-document.schema.json).',
    fenced('json', json(EXAMPLE)),
    '## As metrics',
    `A page in the text format of Prometheus (0.0.4), over HTTP, where \`consumers[].metrics\` of an [Authority](resources.md#authority) says, or for a pod the annotation [\`${EVIDENCE}\`](annotations.md). It is of the moment at which it is read, and of the process that answers.`,
    table(
      ['series', 'required', 'meaning'],
      [
        [code(`${TRUST_METRIC}{sha256="…"} 1`), NEEDED.verifies, 'One for each CA certificate in use.'],
        [code(`${LEAF_METRIC}{sha256="…"} 1`), NEEDED.presents, 'One for each leaf in use.'],
      ],
    ),
    table(
      ['label', 'required', 'meaning'],
      METRICS_LABELS.map(({ label, required, meaning }) => [
        code(label),
        required ? 'always' : 'no',
        meaning,
      ]),
    ),
    `The value 0 says that the certificate is no longer held. Any other value, a time behind the value, and a line of these two families that is not in the text format make the whole page no evidence; so does a page with neither family. A page has ${METRICS_BOUNDS.bytes / 1024 ** 2} MiB at most, with at most ${METRICS_BOUNDS.series} series of the two families, each on a line of at most ${METRICS_BOUNDS.line / 1024} KiB. All other lines are skipped.`,
    fenced('text', EXAMPLE_PAGE),
  );

type Schema = Record<string, unknown> & { properties?: Record<string, Schema> };

/** The object that holds a field such as `sources[].leaf.fingerprint`, and the field's own name. */
const placeOf = (root: Schema, name: string): readonly [holder: Schema, own: string] => {
  const parts = name.split('.');
  let holder = root;
  for (const part of parts.slice(0, -1)) {
    const own = part.replace(/\[\]$/, '');
    holder.properties ??= {};
    holder.properties[own] ??= {};
    const next = holder.properties[own];
    next.type ??= 'object';
    if (own !== part) next.items ??= { type: 'object' };
    holder = (own === part ? next : next.items) as Schema;
  }
  return [holder, parts.at(-1) ?? ''];
};

export const statusDocumentSchema = (): string => {
  const root: Schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Status document of Handover, version 1',
    description: 'Made by `npm run generate` from the code. Do not edit.',
    type: 'object',
    required: DOCUMENT_FIELDS.filter(({ neededBy }) => neededBy === 'every consumer').map(({ name }) => name),
  };
  for (const { name, schema, meaning } of DOCUMENT_FIELDS) {
    const [holder, own] = placeOf(root, name);
    holder.properties ??= {};
    holder.properties[own] = { description: meaning, ...schema };
  }
  return `${json(root)}\n`;
};
