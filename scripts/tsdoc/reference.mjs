// docs/reference/runtime.md: every exported name of the runtime with its TSDoc.
import { PUBLISHED } from '../pack/published.mjs';
import { surfaceOf } from './surface.mjs';

const RUNTIME = '@handover/runtime';

/** TSDoc as Markdown: links to names of this page, examples without their tag. */
const textOf = (doc) =>
  doc
    .replace(/\{@link (\w+)\}/g, (_, name) => `[\`${name}\`](#${name.toLowerCase()})`)
    .replace(/@example\n/g, '')
    .trim();

const memberOf = ({ name, doc, isMethod }) => {
  const [first = '', ...rest] = textOf(doc).split('\n\n');
  return [`- **\`${name}${isMethod ? '()' : ''}\`**: ${first.replaceAll('\n', ' ')}`, ...rest].join('\n\n');
};

const sectionOf = ({ name, kind, doc, members }) =>
  [`### ${name}`, `_${kind === 'const' ? 'function' : kind}_`, textOf(doc), ...members.map(memberOf)].join(
    '\n\n',
  );

export const runtimeReference = (root) => {
  const { entries, declared } = PUBLISHED.find(({ folder }) => folder === 'runtime');
  const parts = Object.keys(declared).flatMap((entry) => {
    const surface = surfaceOf(root, entries[entry]);
    if (surface.length === 0) return [];
    const from = entry === 'index' ? RUNTIME : `${RUNTIME}/${entry}`;
    return [`## \`${from}\``, ...surface.map(sectionOf)];
  });
  return [
    '# API of the runtime',
    'Generated from the TSDoc by `npm run generate`; do not edit. Tests run every example.',
    ...parts,
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
};
