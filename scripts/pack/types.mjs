// Declarations for a published package: the files of tsc's output that its entry points reach, with imports that lead straight to
// the declaration of a name. Through an index a package would reach unused neighbours, and with them third-party types.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { withoutComments } from '../layers.mjs';

const LISTED = /^(import|export)( type)? \{([^}]*)\} from (['"])([^'"]+)\4;$/gm;
const ANY = /(?:\bfrom|\bimport)\s*\(?\s*(['"])([^'"\s]+)\1/g;

const namesIn = (list) =>
  list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((item) => {
      const [, type = '', name, as] = /^(type )?([\w$]+)(?: as ([\w$]+))?$/.exec(item);
      return { type, name, as: as ?? name };
    });

class Declarations {
  #root;
  #texts = new Map();

  constructor(root) {
    this.#root = root;
  }

  text(path) {
    const known = this.#texts.get(path) ?? readFileSync(join(this.#root, path), 'utf8');
    this.#texts.set(path, known);
    return known;
  }

  /** The file of this workspace behind a specifier; undefined: third-party. */
  target(path, specifier) {
    if (specifier.startsWith('.'))
      return posix.join(posix.dirname(path), specifier.replace(/\.[jt]s$/, '.d.ts'));
    const [, name, way = ''] = /^@handover\/([a-z-]+)(\/[a-z-]+)?$/.exec(specifier) ?? [];
    if (name === undefined) return undefined;
    const { exports } = JSON.parse(readFileSync(join(this.#root, `packages/${name}/package.json`), 'utf8'));
    return posix.join('packages', name, exports[`.${way}`].types);
  }

  /** The file that declares an exported name, and the name there. */
  origin(path, name) {
    for (const [, verb, , list, , specifier] of this.text(path).matchAll(LISTED)) {
      const found = verb === 'export' ? namesIn(list).find(({ as }) => as === name) : undefined;
      const target = found === undefined ? undefined : this.target(path, specifier);
      if (target !== undefined) return this.origin(target, found.name);
    }
    return { path, name };
  }
}

const published = (path) => path.replace(/^packages\/([a-z-]+)\/dist\//, '$1/');

const specifierTo = (from, to) => {
  const way = relative(dirname(published(from)), published(to)).replace(/\.d\.ts$/, '.js');
  return way.startsWith('.') ? way : `./${way}`;
};

/** Writes the files that `entries` (name → path of a .d.ts) reach; returns name → path below `out`. */
export const writeTypes = ({ root, entries, out, peers }) => {
  const declarations = new Declarations(root);
  const done = new Set();
  const left = Object.values(entries);
  const reach = (path) => {
    left.push(path);
    return path;
  };
  const straight = (path) =>
    declarations.text(path).replace(LISTED, (all, verb, type = '', list, _quote, specifier) => {
      const target = declarations.target(path, specifier);
      if (target === undefined) {
        // A user without the optional peer must not get errors from its types.
        return peers.includes(specifier) ? `// @ts-ignore: an optional peer\n${all}` : all;
      }
      const groups = new Map();
      for (const item of namesIn(list)) {
        const { path: where, name } = declarations.origin(target, item.name);
        const names = groups.get(where) ?? [];
        groups.set(where, names);
        names.push(`${item.type}${name === item.as ? name : `${name} as ${item.as}`}`);
      }
      return [...groups]
        .map(
          ([where, names]) =>
            `${verb}${type} { ${names.join(', ')} } from '${specifierTo(path, reach(where))}';`,
        )
        .join('\n');
    });
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (done.has(path)) continue;
    done.add(path);
    const text = straight(path);
    for (const [, , specifier] of withoutComments(text).matchAll(ANY)) {
      const known =
        specifier.startsWith('node:') || peers.includes(specifier) || /^\.\.?\/.*\.js$/.test(specifier);
      if (!known) throw new Error(`${path}: published types may not import ${specifier}`);
    }
    const to = join(out, published(path));
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, text);
  }
  return Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, published(path)]));
};
