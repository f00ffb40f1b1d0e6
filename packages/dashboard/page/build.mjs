// Makes dist/page-files.js: the page as one module of texts, so that it travels with whatever bundles or packs the server.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';

const require = createRequire(import.meta.url);
// What is bundled keeps its licence with it.
const licence = (name) => {
  const text = readFileSync(join(dirname(require.resolve(`${name}/package.json`)), 'LICENSE'), 'utf8');
  return `${name}\n\n${text.trim()}`;
};
const here = (path) => new URL(path, import.meta.url);
const { metafile, outputFiles } = await build({
  absWorkingDir: here('../../../').pathname,
  entryPoints: [here('./main.tsx').pathname],
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  outdir: 'page',
  format: 'esm',
  target: ['chrome109', 'firefox115', 'safari16'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  banner: { js: `/*\n${['preact', 'uplot'].map(licence).join('\n\n')}\n*/` },
  loader: { '.css': 'css' },
});
const built = (extension) => {
  const file = outputFiles.find(({ path }) => path.endsWith(extension));
  if (file === undefined) throw new Error(`esbuild made no ${extension}`);
  return file.text;
};
const files = {
  '/': { type: 'text/html; charset=utf-8', body: readFileSync(here('./index.html'), 'utf8') },
  '/page.js': { type: 'text/javascript; charset=utf-8', body: built('.js') },
  '/page.css': { type: 'text/css; charset=utf-8', body: built('.css') },
  '/icon.svg': { type: 'image/svg+xml', body: readFileSync(here('./icon.svg'), 'utf8') },
};
mkdirSync(here('../dist/'), { recursive: true });
// Which code of others is in it, for the list that goes with the package (scripts/pack).
writeFileSync(here('../dist/page-inputs.json'), JSON.stringify(metafile));
// By a rename: programs may be starting from dist/ meanwhile.
writeFileSync(
  here('../dist/page-files.js.new'),
  `export const FILES = ${JSON.stringify(files, undefined, 1)};\n`,
);
renameSync(here('../dist/page-files.js.new'), here('../dist/page-files.js'));
