// The exported names of a package with their TSDoc. Relies on Biome's formatting: declarations at the margin, members indented by two.
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const COMMENT = String.raw`\/\*\*((?:(?!\*\/)[^])*)\*\/\n`;
const LISTED = /^(?:export|import)(?: type)? \{([^}]*)\} from '([^']+)';$/gm;
const MEMBER = new RegExp(
  `^(?: {2}${COMMENT})? {2}((?:readonly |static |abstract |async |get )*)([a-z]\\w*)\\??([<(:])`,
  'gm',
);

/** Only such an example is run. */
const EXAMPLE = /@example\n```ts\n([\s\S]*?)\n```/;

const textOf = (comment = '') => comment.replace(/^\s*\* ?/gm, '').trim();

const namesIn = (list) =>
  list
    .split(',')
    .map((item) => item.trim().replace(/^type /, ''))
    .filter((item) => item !== '');

/** The source file that a specifier names. */
const sourceOf = (root, path, specifier) => {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier);
  const [, name, way = ''] = /^@handover\/([a-z-]+)(\/[a-z-]+)?$/.exec(specifier);
  const { exports } = JSON.parse(readFileSync(join(root, `packages/${name}/package.json`), 'utf8'));
  return posix.join('packages', name, exports[`.${way}`].source);
};

const membersOf = (body, kind) =>
  [...body.matchAll(MEMBER)]
    .map(([, comment, modifiers, name, next]) => ({
      name,
      doc: textOf(comment),
      isMethod: kind === 'class' && next !== ':' && !modifiers.includes('get '),
    }))
    .filter(({ name, doc }) => name !== 'constructor' && !doc.includes('@internal'));

/** Where a name is declared, which may be behind several indexes. */
const declarationOf = (root, path, name) => {
  const text = readFileSync(join(root, path), 'utf8');
  const found = new RegExp(
    `^(?:${COMMENT})?export (?:abstract |async )*(function|class|interface|type|const) ${name}\\b`,
    'm',
  ).exec(text);
  if (found === null) {
    const [, , from] = [...text.matchAll(LISTED)].find(([, list]) => namesIn(list).includes(name));
    return declarationOf(root, sourceOf(root, path, from), name);
  }
  const [whole, comment, kind] = found;
  const rest = text.slice(found.index + whole.length);
  const hasBody = kind === 'class' || kind === 'interface';
  const body = hasBody ? rest.slice(0, rest.indexOf('\n}\n')) : '';
  const [, base] = /^(?:<[^{]*?>)? extends (\w+)/.exec(rest) ?? [];
  const inherits = kind === 'class' && base !== undefined && base !== 'Error';
  return {
    name,
    path,
    kind,
    doc: textOf(comment),
    members: [...(inherits ? declarationOf(root, path, base).members : []), ...membersOf(body, kind)],
  };
};

/** Every name that the file exports. */
export const surfaceOf = (root, path) => {
  const text = readFileSync(join(root, path), 'utf8');
  const listed = [...text.matchAll(LISTED)]
    .filter(([whole]) => whole.startsWith('export'))
    .flatMap(([, list]) => namesIn(list));
  const declared = [...text.matchAll(/^export (?:async )?(?:function|class|interface|type|const) (\w+)/gm)];
  return [...listed, ...declared.map(([, name]) => name)].map((name) => declarationOf(root, path, name));
};

/** Names without a sentence; names, and methods of classes, without an example. */
export const problemsIn = (surface) =>
  surface.flatMap(({ name, path, doc, members }) => {
    const parts = [
      { name, doc, needsExample: true },
      ...members.map((one) => ({ ...one, name: `${name}.${one.name}`, needsExample: one.isMethod })),
    ];
    return parts.flatMap((part) => {
      if (part.doc === '') return [`${path}: ${part.name} has no TSDoc`];
      return part.needsExample && !EXAMPLE.test(part.doc) ? [`${path}: ${part.name} has no @example`] : [];
    });
  });

/** `{ name, code }` of each example, once. */
export const examplesIn = (surface) => {
  const found = new Map();
  for (const { name, doc, members } of surface) {
    for (const part of [
      { name, doc },
      ...members.map((one) => ({ name: `${name}.${one.name}`, doc: one.doc })),
    ]) {
      for (const [, code] of part.doc.matchAll(new RegExp(EXAMPLE, 'g'))) {
        if (!found.has(code)) found.set(code, part.name);
      }
    }
  }
  return [...found].map(([code, name]) => ({ name, code }));
};
