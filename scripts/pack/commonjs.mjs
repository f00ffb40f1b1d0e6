// A CommonJS copy of a package for tools that cannot load ES modules: Jest, TypeScript's node16. Every supported Node takes the ES
// modules, by `require` too (condition module-sync), so a process has one copy of each class.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transform } from 'esbuild';

const FILE_URL = "const fileUrl = require('node:url').pathToFileURL(__filename).href;\n";

/** Writes `cjs/` with the same file names as `dist/` and `types/`, except the entries that only `import` may load. */
export const writeCommonJs = async (out, onlyImport) => {
  const to = join(out, 'cjs');
  mkdirSync(join(to, 'dist'), { recursive: true });
  writeFileSync(join(to, 'package.json'), '{\n  "type": "commonjs"\n}\n');
  for (const name of readdirSync(join(out, 'dist'))) {
    if (onlyImport.some((entry) => name === `${entry}.js`)) continue;
    const text = readFileSync(join(out, 'dist', name), 'utf8');
    const { code } = await transform(text, {
      format: 'cjs',
      platform: 'node',
      target: 'node20.19',
      define: { 'import.meta.url': 'fileUrl' },
    });
    writeFileSync(join(to, 'dist', name), code.includes('fileUrl') ? FILE_URL + code : code);
  }
  cpSync(join(out, 'types'), join(to, 'types'), { recursive: true });
};
