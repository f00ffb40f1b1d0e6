import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const made = new Map<string, Promise<string>>();

/** The command as one file of a folder that every user can read: a checkout may be for root alone. */
export const bundledIn = (folder: string): Promise<string> => {
  const bundled = made.get(folder) ?? bundle(folder);
  made.set(folder, bundled);
  return bundled;
};

const bundle = async (folder: string): Promise<string> => {
  const outfile = join(folder, 'program/dist/main.mjs');
  await build({
    stdin: { contents: "import { main } from './main.ts'; main();", resolveDir: path('../src') },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['source'],
    // Bundled CommonJS loads Node's own modules with require.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom('/');",
    },
  });
  cpSync(path('../package.json'), join(folder, 'program/package.json'));
  return outfile;
};
