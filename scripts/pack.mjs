// npm run pack: build/runtime and build/handover, the two packages as they are published (docs/decisions/0910). Needs a build.
// node scripts/pack.mjs FOLDER: the same in another folder, for tests that run side by side.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { manPage } from '../packages/cli/dist/reference/man.js';
import { writeCommonJs } from './pack/commonjs.mjs';
import { licencesOf, partsOf } from './pack/parts.mjs';
import { PUBLISHED } from './pack/published.mjs';
import { sbomOf } from './pack/sbom.mjs';
import { writeTypes } from './pack/types.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const FOLDER = resolve(process.argv[2] ?? join(ROOT, 'build'));
const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const json = (value) => `${JSON.stringify(value, undefined, 2)}\n`;

const runtime = JSON.parse(read('packages/runtime/package.json'));
for (const {
  folder,
  from,
  entries,
  declared,
  external,
  banner,
  copied,
  commonJs,
  man,
  pageInputs,
  manifest,
} of PUBLISHED) {
  const out = join(FOLDER, folder);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: entries,
    outdir: join(out, 'dist'),
    bundle: true,
    splitting: true, // a command loads only what it uses, and both entry points of a package share their classes
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    conditions: ['source'],
    external,
    banner,
    chunkNames: '[name]-[hash]',
    metafile: true,
    logLevel: 'warning',
  });
  const source = JSON.parse(read(`packages/${from}/package.json`));
  const parts = partsOf(ROOT, [metafile, ...pageInputs.map((path) => JSON.parse(read(path)))]);
  const types = writeTypes({
    root: ROOT,
    entries: declared,
    out: join(out, 'types'),
    peers: Object.keys(runtime.peerDependencies),
  });
  if (commonJs !== undefined) await writeCommonJs(out, commonJs.onlyImport);
  const shipped = {
    'package.json': json(manifest(source, types, runtime)),
    'README.md': read(`packages/${from}/README.md`),
    LICENSE: read('LICENSE'),
    'CHANGELOG.md': read('CHANGELOG.md'),
    'sbom.cdx.json': json(sbomOf(source, parts)),
    ...(parts.length === 0 ? {} : { 'THIRD-PARTY-LICENSES.txt': licencesOf(parts) }),
  };
  for (const [name, text] of Object.entries(shipped)) writeFileSync(join(out, name), text);
  for (const [to, path] of Object.entries(copied))
    cpSync(join(ROOT, path), join(out, to), { recursive: true });
  if (man !== undefined) {
    mkdirSync(join(out, 'man'));
    writeFileSync(join(out, 'man', man), await manPage(source.version));
  }
  const programs = Object.keys(metafile.outputs).length;
  process.stdout.write(`${out}: ${programs} programs, ${parts.length} third-party packages inside\n`);
}
