import { DOCUMENT_FIELDS, type NeededBy } from '@handover/engine';
import { code, page, table } from './markdown.ts';

const NEEDED: Readonly<Record<NeededBy, string>> = {
  'every consumer': 'always',
  verifies: 'if the consumer verifies',
  presents: 'if the consumer presents a leaf',
  pods: 'for pods',
  none: 'no',
};

const EXAMPLE = {
  version: 1,
  at: '2027-01-01T12:00:00.000Z',
  pid: 4711,
  sources: [
    {
      anchors: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
      leaf: { issuerKeyId: '5a1e7c0f3b9d4a68b2c4d6e8f0a1b2c3d4e5f607' },
    },
  ],
};

export const statusDocumentPage = (): string =>
  page(
    'The status document',
    'What a program says of itself, as evidence: a JSON document in a file, or at the path `/handover/status` of a unix socket or URL (`consumers[].status` of an [Authority](resources.md#authority)). `@handover/runtime` writes it; any program can.',
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
    'A document has 64 KiB at most. Other fields are ignored. `handover status-document check FILE` says what a document is evidence for.',
    `\`\`\`json\n${JSON.stringify(EXAMPLE, undefined, 2)}\n\`\`\``,
  );
