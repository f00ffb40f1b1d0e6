import { posix } from 'node:path';

// Allowed imports between packages (ARCHITECTURE.md). A package may import what its arrows reach, directly or through others.
export const ARROWS = {
  material: [],
  core: ['material'],
  runtime: ['material'],
  kube: ['runtime'],
  engine: ['core', 'runtime'],
  install: ['core'],
  sim: ['engine'],
  operator: ['engine', 'kube'],
  dashboard: ['engine'],
  cli: ['dashboard', 'install', 'operator', 'sim'],
};

/** What a package's tests may import beside that. */
export const TEST_ARROWS = { operator: ['install'] };

const BESIDE = '.';

/**
 * Folders inside a package, or inside a folder of it, lowest first: a folder may import those above it in this list. Files beside the
 * folders may be imported by all, and import all, unless the list has a place for them.
 */
export const FOLDERS = {
  engine: [
    'ledger',
    'scheduling',
    'serving',
    'snapshot',
    'evidence',
    'observe',
    'act',
    'controller',
    'report',
    'certgen',
    'directory',
  ],
  runtime: ['status', 'files', 'clients', 'servers', 'kubernetes', 'register'],
  'engine/directory': ['disk', 'state', 'resources', 'requests', 'objects', 'hooks', BESIDE],
  operator: [
    'cache',
    'objects',
    'resources',
    'workloads',
    'cert-manager',
    'events',
    'home',
    'pod-certificates',
    'compat',
    'run',
    'certgen',
    'embed',
  ],
};

/** Third-party packages each layer may import at run time; node: modules are separate. */
export const THIRD_PARTY = {
  material: [],
  core: ['zod'],
  runtime: ['undici', '@grpc/grpc-js', '@kubernetes/client-node'],
  kube: ['undici', 'yaml'],
  engine: ['yaml'],
  install: ['yaml', 'zod'],
  sim: [],
  operator: ['yaml'],
  dashboard: ['preact', 'uplot'],
  cli: ['commander', 'pino', 'prom-client', 'undici', 'yaml'],
};

/** Packages that hold no I/O, no clock and no randomness. */
export const PURE = {
  packages: ['material', 'core'],
  patterns: [
    [/\bDate\.now\b/, 'Date.now: time is an argument'],
    [/\bnew Date\(\)/, 'new Date(): time is an argument'],
    [/\bperformance\.now\b/, 'performance.now: time is an argument'],
    [/\bMath\.random\b/, 'Math.random: randomness is an argument'],
    [/\bprocess\b/, 'process: no ambient state'],
    [
      /['"](?:node:)?(?:fs|fs\/promises|net|tls|http|https|http2|child_process|os|process|timers|worker_threads)['"]/,
      'no I/O',
    ],
  ],
};

/** Facts of the sources that stand in one place: `[pattern, the paths that may hold it, message]`. */
export const ONE_PLACE = [
  [/\bnew HandoverError\(/, /(?!)/, "use the package's own error, whose codes are typed (src/error.ts)"],
  [
    // Not the API version, formats of files (…/1), the name of the controller.
    /\bhandover\.dev\/(?!v1alpha1\b|[a-z]+\/1\b|operator\b)[a-z]|(?:cert-manager\.io|reloader\.stakater\.com|service\.beta\.openshift\.io)\/[a-z]|app\.kubernetes\.io\/managed-by|kubectl\.kubernetes\.io\/restartedAt/,
    // Runtime may not import core. Mutants copy the planner without the folders beside it.
    /^packages\/(?:core\/src\/contract\/|material\/src\/tls-files\.ts$|core\/src\/plan\/(?:gates|old-leaves)\.ts$)/,
    'names of annotations and labels stand in core/src/contract',
  ],
  [
    /\bnew Informer\b|\bkube\.(?:list|pages)\b/,
    // Other packages keep nothing of others. Lists of metadata, and the pod of a request, are read and not kept; a command reads what it shows.
    /^packages\/(?!operator\/)|^packages\/operator\/src\/(?:cache\/watched|objects\/fresh|pod-certificates\/signer|cert-manager\/cluster|run\/public-view)\.ts$/,
    'objects of the API server come in through Watched and listed (operator/src/cache/watched.ts)',
  ],
];

const reachable = (from, seen = new Set()) => {
  for (const next of ARROWS[from] ?? []) {
    if (!seen.has(next)) {
      seen.add(next);
      reachable(next, seen);
    }
  }
  return seen;
};

/** Why a relative import breaks the order of folders; undefined: it does not. */
const againstFolders = (layer, path, specifier) => {
  const target = posix.join(posix.dirname(path), specifier);
  for (const [where, order] of Object.entries(FOLDERS)) {
    const [owner, ...below] = where.split('/');
    const root = ['packages', owner, 'src', ...below, ''].join('/');
    if (owner !== layer || !path.startsWith(root) || !target.startsWith(root)) continue;
    const folderOf = (file) => file.slice(root.length).split('/').slice(0, -1)[0] ?? BESIDE;
    const [from, to] = [folderOf(path), folderOf(target)];
    if (from === to || (!order.includes(BESIDE) && [from, to].includes(BESIDE))) continue;
    for (const folder of [from, to])
      if (!order.includes(folder))
        return `add folder ${folder} to the folders of ${where} in scripts/layers.mjs`;
    if (order.indexOf(to) > order.indexOf(from))
      return `${from} may not import ${specifier}: ${to === BESIDE ? where : to} stands above it`;
  }
  return undefined;
};

const packageOf = (specifier) => {
  if (specifier === 'handover') return 'cli';
  return /^@handover\/([a-z-]+)/.exec(specifier)?.[1];
};

const IMPORT = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(['"])([^'"]+)\1/g;

/** Source with comments blanked out: prose cannot break a rule, and line numbers stay. */
export const withoutComments = (source) =>
  source.replace(
    /('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (all, text) => (text === undefined ? all.replace(/[^\n]/g, ' ') : all),
  );

/** Every violation in one file: `{ line, message }`. */
export const problemsIn = (layer, path, source) => {
  const problems = [];
  const isTest = /\.test\.ts$|\/(test|bench)\//.test(path);
  const allowed = new Set([...reachable(layer), ...((isTest && TEST_ARROWS[layer]) || [])]);
  const lines = withoutComments(source).split('\n');
  lines.forEach((text, index) => {
    const say = (message) => problems.push({ line: index + 1, message });
    for (const [, , specifier] of text.matchAll(IMPORT)) {
      const target = packageOf(specifier);
      if (target?.startsWith('test-')) {
        if (!isTest) say(`${specifier} is for tests and benchmarks`);
      } else if (target !== undefined) {
        if (target !== layer && !allowed.has(target)) say(`${layer} may not import ${specifier}`);
      } else if (/^\.\.?\//.test(specifier)) {
        const depth = path.split('/').length - 3; // packages/<layer>/…
        const ups = specifier.split('/').filter((part) => part === '..').length;
        if (ups > depth) say(`${specifier} leaves the package: import it by name`);
        else if (!isTest) {
          const refused = againstFolders(layer, path, specifier);
          if (refused !== undefined) say(refused);
        }
      } else if (!specifier.startsWith('node:') && !specifier.startsWith('#') && !isTest) {
        const name = specifier
          .split('/')
          .slice(0, specifier.startsWith('@') ? 2 : 1)
          .join('/');
        if (!THIRD_PARTY[layer]?.includes(name)) say(`${layer} may not depend on ${name}`);
      }
    }
    for (const [pattern, place, message] of ONE_PLACE)
      if (/^packages\/[a-z]+\/src\//.test(path) && !isTest && !place.test(path) && pattern.test(text))
        say(message);
    if (PURE.packages.includes(layer) && !isTest) {
      for (const [pattern, message] of PURE.patterns) if (pattern.test(text)) say(message);
    }
  });
  return problems;
};
