import { ANNOTATIONS, type AnnotationOwner } from '@handover/core';
import { code, page, table } from './markdown.ts';

const GROUPS: readonly (readonly [title: string, intro: string, owners: readonly AnnotationOwner[]])[] = [
  ['Yours', 'How to use them: [annotations](../recipes/annotations.md).', ['you']],
  ['Written by Handover', 'Do not change them.', ['Handover', 'kubectl']],
  ['cainjector’s', 'Honoured with `handover operator --compat cainjector`.', ['cainjector']],
  ['service-ca’s', 'Honoured with `--compat service-ca`.', ['service-ca']],
  ['trust-manager’s', 'On the targets of Bundles, with `--compat trust-manager`.', ['trust-manager']],
  ['Reloader’s', 'Honoured with `--compat reloader`.', ['Reloader']],
];

export const annotationsPage = (): string =>
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
