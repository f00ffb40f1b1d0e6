import { readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { ROOT } from './src/install.ts';

const { packed, bare } = inject('installed');

type Way = string | { readonly [condition: string]: Way };

interface Manifest {
  readonly [field: string]: unknown;
  readonly exports: Readonly<Record<string, Way>>;
  readonly bin?: Readonly<Record<string, string>>;
}

const at = (name: string): string => join(bare, 'node_modules', name);
const manifestOf = (name: string): Manifest =>
  JSON.parse(readFileSync(join(at(name), 'package.json'), 'utf8')) as Manifest;

/** Chunks of a program are named after their content; their number may change. */
const steady = (path: string): string => path.replace(/-[A-Z0-9]{8}\.js$/, '-*.js');

const MOST = {
  '@handover/runtime': { tarball: 190_000, parts: 30 },
  handover: { tarball: 1_100_000, parts: 90 },
} as const;

test('exactly both packages are packed', () => {
  expect(packed.map(({ name }) => name)).toEqual(['@handover/runtime', 'handover']);
});

test.each(packed)(
  '$name holds the files that are listed here, and no others',
  async ({ name, files, size }) => {
    const list = [...new Set(files.map(({ path }) => steady(path)))].sort();
    await expect(`${list.join('\n')}\n`).toMatchFileSnapshot(`files/${name.replace('@handover/', '')}.txt`);
    const { tarball, parts } = MOST[name as keyof typeof MOST];
    expect(files.filter(({ path }) => steady(path) !== path).length).toBeLessThanOrEqual(parts);
    expect(size).toBeLessThanOrEqual(tarball);
    console.log(`${name}: ${files.length} files, ${size} bytes packed`);
  },
);

test.each(packed)('$name holds no key, no test, no source and nothing of this machine', ({ name, files }) => {
  const paths = files.map(({ path }) => path);
  expect(
    paths.filter((path) =>
      /\.(pem|key|crt|map|tsbuildinfo|ts|tgz)$|test(?!ing)|\.env|\.npmrc/.test(path.replace(/\.d\.ts$/, '')),
    ),
  ).toEqual([]);
  for (const path of paths) {
    const text = readFileSync(join(at(name), path), 'utf8');
    for (const place of [ROOT.replace(/\/$/, ''), homedir(), `${tmpdir()}/handover`])
      if (place.length > 1) expect(text.includes(`${place}/`), `${path} names ${place}`).toBe(false);
    expect(text).not.toMatch(/-----BEGIN [A-Z ]*PRIVATE KEY-----\n/);
    expect(text).not.toContain('sourceMappingURL=');
  }
});

test.each(packed)('$name has no dependencies and no install scripts', ({ name }) => {
  const manifest = manifestOf(name);
  for (const field of ['private', 'scripts', 'dependencies', 'optionalDependencies', 'devDependencies'])
    expect(manifest[field], field).toBeUndefined();
  const optional = manifest.peerDependenciesMeta as Readonly<Record<string, { optional: boolean }>>;
  for (const peer of Object.keys(manifest.peerDependencies as object))
    expect(optional[peer]).toEqual({ optional: true });
  expect(
    readdirSync(join(bare, 'node_modules'))
      .filter((entry) => !entry.startsWith('.'))
      .sort(),
  ).toEqual(['@handover', 'handover']);
});

// A repository, a homepage and an address for bugs come with the first release: there is no public repository yet.
test.each(packed)('the package.json of $name says what a registry shows', ({ name }) => {
  expect(manifestOf(name)).toMatchObject({
    name,
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    description: expect.stringMatching(/^[A-Z].{20,}[^.]$/),
    license: 'Apache-2.0',
    type: 'module',
    engines: { node: '>=20.19' },
    keywords: expect.arrayContaining(['tls', 'rotation']),
    exports: { './package.json': './package.json' },
    files: expect.arrayContaining(['dist', 'types', 'CHANGELOG.md']),
  });
});

test('the packed types of the runtime hover with their examples', () => {
  const types = join(at('@handover/runtime'), 'types');
  const declared = readdirSync(types, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.d.ts'))
    .map((file) => readFileSync(join(types, file), 'utf8'))
    .join('\n');
  for (const name of [
    'openTrust',
    'openIdentity',
    'openToken',
    'openTlsProfile',
    'serveStatus',
    'statusMetrics',
  ])
    expect(declared).toMatch(
      new RegExp(`@example(?:(?!\\*/)[\\s\\S])*\\*/\\s*export declare (?:async )?function ${name}\\(`),
    );
});

test.each(packed)('all paths in the package.json of $name exist', ({ name }) => {
  const { main, types, exports, bin = {} } = manifestOf(name);
  const endsOf = (way: Way): readonly string[] => {
    if (typeof way === 'string') return [way];
    // A resolver of types takes the first condition that matches.
    if ('types' in way) expect(Object.keys(way)).toEqual(['types', 'default']);
    return Object.values(way).flatMap(endsOf);
  };
  const ways = Object.values(exports).flatMap(endsOf);
  for (const way of [main as string, types as string, ...ways, ...Object.values(bin)])
    expect(statSync(join(at(name), way)).isFile(), way).toBe(true);
  for (const way of Object.values(bin)) {
    const path = join(at(name), way);
    expect(readFileSync(path, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
    expect(statSync(path).mode & 0o111).toBe(0o111);
  }
});

test('every worker thread that is started by file name has its file', () => {
  const dist = join(at('handover'), 'dist');
  const asked = readdirSync(dist).flatMap((file) =>
    [
      ...readFileSync(join(dist, file), 'utf8').matchAll(
        /new Worker\d*\(new URL\("\.\/([^"]+)", import\.meta\.url\)/g,
      ),
    ].map(([, name]) => name),
  );
  expect([...new Set(asked)].sort()).toEqual(['service-thread.js', 'simulation-thread.js', 'worker.js']);
  for (const name of asked) expect(statSync(join(dist, name ?? '')).isFile()).toBe(true);
});
