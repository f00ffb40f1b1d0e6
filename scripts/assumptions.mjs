// docs/assumptions.md: each assumption under which a gate opens, with the rules of the planner that rest on it. A rule is what a mutant removes.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const PAGE = 'docs/assumptions.md';
const MODEL = 'packages/sim/src/modelcheck';
/** What each row says. */
const LABELS = ['Code', 'Noticed', 'Do'];

/** Rows of the page: a heading, and below it lines `- **Label**: …`. */
export const rowsIn = (page) =>
  page
    .split(/^### /m)
    .slice(1)
    .map((part) => ({
      name: part.split('\n', 1)[0],
      said: new Map([...part.matchAll(/^- \*\*(\w+)\*\*: (.+)$/gm)].map(([, label, text]) => [label, text])),
    }));

/** What a line has in backticks. */
const named = ({ said }, label) =>
  [...(said.get(label) ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name);

/** Code and tests are named as pairs: a file and a function, a sentence and its file. */
const pairs = (row, label) => {
  const names = named(row, label);
  return names.flatMap((first, index) => (index % 2 === 0 ? [[first, names[index + 1] ?? '']] : []));
};

/** Whether a TypeScript file defines a function or method of this name. */
const isDefinedIn = (text, name) =>
  new RegExp(
    `^(export )?(const|(async )?function) ${name}\\b|^ +((async|override|readonly) )*${name}([(<:]| = )`,
    'm',
  ).test(text);

/** Names of the model checker's mutants and worlds, in the text of its sources. */
export const mutantsIn = (text) => [...text.matchAll(/^ {4}name: '([^']+)',$/gm)].map(([, name]) => name);
export const worldsIn = (text) => [...text.matchAll(/\bworldOf\(\s*'([^']+)'/g)].map(([, name]) => name);

/** What is wrong with a page. `read`: the text of a file, or undefined. */
export const problemsIn = (page, { mutants, worlds, read }) => {
  const rows = rowsIn(page);
  const holders = (mutant) => rows.filter((row) => named(row, 'Mutants').includes(mutant));
  return [
    ...rows.flatMap((row) => {
      const says = (what) => `${row.name}: ${what}`;
      const missing = LABELS.filter((label) => !row.said.has(label));
      const isShown = row.said.has('World') || row.said.has('Test');
      return [
        ...missing.map((label) => says(`says nothing under "${label}"`)),
        ...(isShown ? [] : [says('names no World and no Test that breaks without it')]),
        ...named(row, 'World')
          .filter((name) => !worlds.includes(name))
          .map((name) => says(`there is no world "${name}"`)),
        ...named(row, 'Mutants')
          .filter((name) => !mutants.includes(name))
          .map((name) => says(`there is no mutant "${name}"`)),
        ...pairs(row, 'Test')
          .filter(([name, file]) => read(file)?.includes(`'${name}'`) !== true)
          .map(([name, file]) => says(`${file} has no test "${name}"`)),
        ...pairs(row, 'Code')
          .filter(([file, name]) => !isDefinedIn(read(`packages/${file}`) ?? '', name))
          .map(([file, name]) => says(`packages/${file} does not define ${name}`)),
      ];
    }),
    ...mutants
      .filter((mutant) => holders(mutant).length !== 1)
      .map((mutant) => {
        const count = holders(mutant).length;
        return `the rule that this mutant removes stands in ${count === 0 ? 'no row' : `${count} rows`}: ${mutant}`;
      }),
  ].map((problem) => `${PAGE}: ${problem}`);
};

/** The page as it is. */
export const problems = () => {
  const model = readdirSync(MODEL).map((file) => readFileSync(`${MODEL}/${file}`, 'utf8'));
  return problemsIn(readFileSync(PAGE, 'utf8'), {
    mutants: model.flatMap(mutantsIn),
    worlds: model.flatMap(worldsIn),
    read: (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined),
  });
};
