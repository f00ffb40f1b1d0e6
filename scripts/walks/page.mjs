// docs/architecture/walks.md: every file and function of each walk, as the engine counted them.
const INTRO = `# Four walks through the code

What runs between an event and its effect: every file and every named function, counted by the JavaScript engine (\`npm run walks\`), in the order of the layers. Getters,
arrow functions without a name and the platform are not counted.
`;

/** From the commands down to certificates. */
const LAYERS = [
  'cli',
  'dashboard',
  'operator',
  'engine',
  'core',
  'kube',
  'runtime',
  'material',
  'install',
  'sim',
];

const countOf = (ran) => ran.reduce((sum, { functions }) => sum + functions.length, 0);

const layerOf = ({ file }) => file.split('/', 1)[0];

const rows = (ran) =>
  [...ran]
    .sort((a, b) => LAYERS.indexOf(layerOf(a)) - LAYERS.indexOf(layerOf(b)) || a.file.localeCompare(b.file))
    .map(({ file, functions }) => {
      const [layer, ...path] = file.split('/');
      return `| \`${layer}/src/${path.join('/')}.ts\` | ${[...new Set(functions)].map((name) => `\`${name}\``).join(' ')} |`;
    });

export const page = (walks) =>
  [
    INTRO,
    '| walk | files | functions | packages |',
    '| ---- | ----- | --------- | -------- |',
    ...walks.map(
      ({ title, ran }) =>
        `| ${title} | ${ran.length} | ${countOf(ran)} | ${LAYERS.filter((layer) => ran.some((one) => layerOf(one) === layer)).join(', ')} |`,
    ),
    ...walks.flatMap(({ title, text, ran }) => [
      '',
      `## ${title}`,
      '',
      text,
      '',
      '| where | functions |',
      '| ----- | --------- |',
      ...rows(ran),
    ]),
    '',
  ].join('\n');
