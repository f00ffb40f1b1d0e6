// docs/scenarios.md: each scenario of the four incidents, and the tests whose names carry its id.
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { boundsPart } from './bounds.mjs';
import { INCIDENTS, NOTES, SCENARIOS } from './list.mjs';

const IDS = String.raw`S[0-3]\.\d+(?:(?:,| and) S[0-3]\.\d+)*`;
/** A text that begins with ids: a test's name, or one in a table of names. */
const NAME = new RegExp(String.raw`(['"\x60])(${IDS}):? ((?:\\.|(?!\1)[^\\\n])+)\1`, 'g');
/** `describe('S2 over …')` gives its number to tests named `1: …` and `2 and 8: …`. */
const GROUP = /describe(?:\.\w+(?:\([^\n]*?\))?)*\((['"`])(S[0-3]) /;
const NUMBERED =
  /\b(?:test|it)(?:\.\w+(?:\([^'"`()]*\))?)*\(\s*(['"`])(\d+(?: and \d+)*): ((?:\\.|(?!\1)[^\\\n])+)\1/g;

/** Tests in one file, as `{ ids, name }`. */
export const namesIn = (text) => {
  const named = [...text.matchAll(NAME)].map(([, , ids, name]) => ({ ids: ids.split(/,| and/), name }));
  const group = GROUP.exec(text)?.[2];
  const numbered =
    group === undefined
      ? []
      : [...text.matchAll(NUMBERED)].map(([, , numbers, name]) => ({
          ids: numbers.split(' and ').map((number) => `${group}.${number}`),
          name,
        }));
  return [...named, ...numbered].map(({ ids, name }) => ({
    ids: ids.map((id) => id.trim()),
    name: name.replaceAll(/\\(.)/g, '$1'),
  }));
};

/** What a test runs against, by where it lies; a line `// Against: …` in the file says it better. */
const PLACES = [
  [/^packages\/operator\/test\/rotation\//, 'pods on a real node: kubelet, containerd, kube-proxy'],
  [/\/test\/cluster\//, 'kube-apiserver and etcd'],
  [/^packages\/runtime\//, 'Node: sockets, files, processes'],
  [/^packages\/cli\//, '`handover` in a directory'],
  [/^test\/docs\//, 'the documents'],
  [/./, 'the library'],
];
export const against = (file, text) => {
  const said = /^\/\/ Against: (.+?)\.?$/m.exec(text)?.[1];
  const field = /^test\/field\/(?:.*\/)?([^/]+)\.test\.ts$/.exec(file)?.[1];
  return said ?? field ?? PLACES.find(([place]) => place.test(file))?.[1];
};

export const testFiles = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return ['dist', 'node_modules'].includes(entry.name) ? [] : testFiles(path);
    return /\.test\.m?ts$/.test(entry.name) ? [path] : [];
  });

/** Every test that names a scenario, in the order of files. */
export const collect = () =>
  ['packages', 'test']
    .flatMap(testFiles)
    .sort()
    .flatMap((file) => {
      const text = readFileSync(file, 'utf8');
      return namesIn(text).map(({ ids, name }) => ({ ids, name, file, against: against(file, text) }));
    });

/** What is wrong with these tests: a scenario that none proves, a name of none. */
export const problems = (tests) => {
  const named = new Set(tests.flatMap(({ ids }) => ids));
  return [
    ...Object.keys(SCENARIOS)
      .filter((id) => !named.has(id))
      .map((id) => `${id} (${SCENARIOS[id]}): no test is named after it`),
    ...tests.flatMap(({ ids, name, file }) =>
      ids.filter((id) => !(id in SCENARIOS)).map((id) => `${file}: there is no scenario ${id}: ${name}`),
    ),
  ];
};

const cell = (text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
/** A name of a table of tests, with its placeholders (`%s`, `$name`) left open. */
const readable = (name) => name.replaceAll(/%[sdifjo#]|\$[a-z][\w.]*/gi, '…');
const unique = (items) => [...new Set(items)];

const row = (id, tests) => {
  const proofs = tests.filter(({ ids }) => ids.includes(id));
  const shown = unique(
    proofs.map(({ name, file }) => `${cell(readable(name))} ([${basename(file)}](../${file}))`),
  );
  const programs = unique(proofs.map((proof) => cell(proof.against)));
  return `| ${id} | ${cell(SCENARIOS[id])} | ${shown.join('<br>') || '**none**'} | ${programs.join('<br>')} |\n`;
};

export const page = (tests) => {
  const part = ([incident, [title, source]]) => {
    const rows = Object.keys(SCENARIOS).filter((id) => id.startsWith(`${incident}.`));
    const head = '| | scenario | tests | run against |\n| --- | --- | --- | --- |\n';
    const notes = Object.entries(NOTES)
      .filter(([id]) => id.startsWith(`${incident}.`))
      .map(([id, text]) => `\n**${id}.** ${text}\n`);
    return `\n## ${incident}: ${title}\n\n${source}.\n\n${head}${rows.map((id) => row(id, tests)).join('')}${notes.join('')}`;
  };
  return `# The scenarios, and the tests that prove them

Four public incidents are the origin of Handover: [how a rotation works](how-a-rotation-works.md) says what it does about them. Each
scenario has at least one test that carries its number in its name; \`npx vitest run -t "S3.6"\` runs those of one. \`npm run generate\` makes this page from
the names, and \`npm run check\` fails when a scenario has no test.
${Object.entries(INCIDENTS).map(part).join('')}
${boundsPart()}`;
};
