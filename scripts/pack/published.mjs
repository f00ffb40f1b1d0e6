// The published packages of this workspace: their sources and their package.json.

const common = ({ name, version, description, license, type, engines }) => ({
  name,
  version,
  description,
  license,
  type,
  engines,
});

/** One condition for `import` and `require`: both load the same file, so a process has one copy of each class. */
const way = (name, types) => ({ types: `./types/${types[name]}`, default: `./dist/${name}.js` });

/** The same, and a CommonJS copy for tools that cannot load an ES module. */
const bothWays = (name, types) => ({
  'module-sync': way(name, types),
  import: way(name, types),
  require: { types: `./cjs/types/${types[name]}`, default: `./cjs/dist/${name}.js` },
});

const RUNTIME = ['index', 'grpc', 'kubernetes', 'openshift', 'testing', 'undici'];
/** For `node --import`: it awaits, which `require` cannot. */
const REGISTER = 'register';
const perEntry = (names, path) => Object.fromEntries(names.map((name) => [name, path(name)]));

const SHIPPED = ['dist', 'types', 'CHANGELOG.md', 'sbom.cdx.json'];
const ITSELF = { './package.json': './package.json' };

export const PUBLISHED = [
  {
    folder: 'runtime',
    from: 'runtime',
    entries: perEntry([...RUNTIME, REGISTER], (name) => `packages/runtime/src/${name}.ts`),
    declared: perEntry([...RUNTIME, REGISTER], (name) => `packages/runtime/dist/${name}.d.ts`),
    commonJs: { onlyImport: [REGISTER] },
    external: ['undici', '@grpc/grpc-js'],
    banner: {},
    copied: {},
    pageInputs: [],
    manifest: (source, types) => ({
      ...common(source),
      keywords: ['tls', 'mtls', 'certificate', 'rotation', 'reload', 'trust', 'kubernetes', 'grpc'],
      sideEffects: [`./dist/${REGISTER}.js`],
      main: './cjs/dist/index.js',
      types: `./cjs/types/${types.index}`,
      exports: {
        ...Object.fromEntries(
          RUNTIME.map((name) => [name === 'index' ? '.' : `./${name}`, bothWays(name, types)]),
        ),
        [`./${REGISTER}`]: { import: way(REGISTER, types) },
        ...ITSELF,
      },
      files: [...SHIPPED, 'cjs'],
      peerDependencies: source.peerDependencies,
      peerDependenciesMeta: source.peerDependenciesMeta,
      publishConfig: { access: 'public' }, // scoped packages are private by default
    }),
  },
  {
    folder: 'handover',
    from: 'cli',
    entries: {
      index: 'packages/cli/src/index.ts',
      main: 'packages/cli/src/main.ts',
      // Worker threads and processes are started by file name, from the folder of the file that starts them.
      'file-reader': 'packages/engine/src/directory/disk/file-reader.ts',
      'service-thread': 'packages/cli/src/demo/service-thread.ts',
      'simulation-thread': 'packages/cli/src/simulate/simulation-thread.ts',
      worker: 'packages/sim/src/worker.ts',
    },
    declared: { index: 'packages/cli/dist/index.d.ts' },
    external: [],
    // Bundled CommonJS loads Node's own modules with require.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);",
    },
    copied: { bin: 'packages/cli/bin', systemd: 'examples/systemd' },
    man: 'handover.1',
    pageInputs: ['packages/dashboard/dist/page-inputs.json'],
    manifest: (source, types, runtime) => ({
      ...common(source),
      keywords: [
        'tls',
        'mtls',
        'certificate',
        'ca',
        'rotation',
        'trust',
        'kubernetes',
        'operator',
        'certgen',
      ],
      bin: source.bin,
      man: ['./man/handover.1'], // npm links the pages of a list only
      main: './dist/index.js',
      types: `./types/${types.index}`,
      exports: { '.': way('index', types), ...ITSELF },
      files: ['bin', 'man', 'systemd', ...SHIPPED, 'THIRD-PARTY-LICENSES.txt'],
      // Only for an identity's `dispatcher()` and `fetch()`, as in the runtime.
      peerDependencies: { undici: runtime.peerDependencies.undici },
      peerDependenciesMeta: { undici: runtime.peerDependenciesMeta.undici },
    }),
  },
];
