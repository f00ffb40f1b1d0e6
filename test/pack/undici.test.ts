import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import { NODES, nodeOf, project } from './src/project.ts';
import { start } from './src/run.ts';
import { WORLD } from './src/world.ts';

const source = fileURLToPath(new URL('./consumers/undici.mjs', import.meta.url));
/** Both ends of each line in the range of the peer dependency. */
const UNDICI = ['6.19.0', '6.29.1', '7.0.0', '7.30.2', '8.0.0', '8.12.4'] as const;
/** undici 7.0.0 loads a module of Node 22 that warns of itself. */
const FLAGS = ['--disable-warning=ExperimentalWarning'];

const outcomeOf = async (cwd: string, node: string, ...args: readonly string[]) => {
  const ended = await start(cwd, node, args, WORLD).ended;
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(ended.stdout) as unknown;
};
const WELL = {
  before: ['200 static', '200 method'],
  after: ['200 static', '200 method'],
  fetched: 'fetch',
};

describe.each(UNDICI)('undici %s', (undici) => {
  const cwd = project(`undici-${undici}`, [`undici@${undici}`]);
  copyFileSync(source, join(cwd, 'undici.mjs'));
  const loads = (version: string) => undici !== '8.12.4' || !version.startsWith('20');

  test.each(NODES.filter(loads))('follows a swap with both dispatchers on Node %s', async (version) => {
    const folder = mkdtempSync(join(cwd, 'files-'));
    expect(await outcomeOf(cwd, nodeOf(version), ...FLAGS, 'undici.mjs', folder)).toEqual(WELL);
  });

  test.each(NODES.filter((version) => !loads(version)))(
    'is refused on Node %s with the version to install',
    async (version) => {
      const script = `import { openTrust } from '@handover/runtime';
        const trust = await openTrust('none', { verify: false });
        try { trust.dispatcher(); } catch ({ code, message }) { process.stdout.write(code + ' ' + message); }`;
      const { ended } = start(cwd, nodeOf(version), ['--input-type=module', '-e', script]);
      expect((await ended).stdout).toMatch(/^PEER_UNUSABLE undici does not load on Node 20.*undici@7/);
    },
  );
});

describe('A bundle of a program with the runtime and undici runs without node_modules', () => {
  const cwd = project('bundlers', [
    'undici@7.30.2',
    'esbuild@0.28.2',
    'rollup@4.68.2',
    '@rollup/plugin-node-resolve@16.0.3',
    '@rollup/plugin-commonjs@29.0.0',
    '@rollup/plugin-json@6.1.0',
    'webpack@5.112.2',
  ]);
  copyFileSync(source, join(cwd, 'undici.mjs'));
  const alone = join(dirname(inject('installed').bare), 'bundles');
  mkdirSync(alone, { recursive: true });

  /** What builds `undici.mjs` into a file; run as a script in the project. */
  const BUNDLERS = {
    'esbuild-esm.mjs': (to: string) => `import { build } from 'esbuild';
      const js = "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";
      await build({ entryPoints: ['undici.mjs'], outfile: '${to}', bundle: true, platform: 'node', format: 'esm', banner: { js }, target: 'node20' });`,
    'rollup.mjs': (to: string) => `import { rollup } from 'rollup';
      import resolve from '@rollup/plugin-node-resolve'; import commonjs from '@rollup/plugin-commonjs'; import json from '@rollup/plugin-json';
      const bundle = await rollup({ input: 'undici.mjs', plugins: [resolve({ preferBuiltins: true }), commonjs(), json()], onwarn: () => undefined });
      await bundle.write({ file: '${to}', format: 'es', inlineDynamicImports: true });`,
    'webpack.mjs': (to: string) => `import webpack from 'webpack';
      const [, folder, filename] = /^(.*)\\/(.*)$/.exec('${to}');
      await new Promise((done, fail) => webpack({ entry: './undici.mjs', mode: 'production', target: 'node20', output: { path: folder, filename, module: true, chunkFormat: 'module' }, experiments: { outputModule: true } },
        (error, stats) => error || stats.hasErrors() ? fail(error ?? new Error(stats.toString())) : done()));`,
  };

  test.each(Object.keys(BUNDLERS) as (keyof typeof BUNDLERS)[])('%s', async (name) => {
    const to = join(alone, name);
    writeFileSync(join(cwd, `build-${name}`), BUNDLERS[name](to));
    expect(await start(cwd, process.execPath, [`build-${name}`]).ended).toMatchObject({ code: 0 });
    const folder = mkdtempSync(join(alone, 'files-'));
    // webpack sees through createRequire; for the others trust.dispatcher() says what to do.
    const alsoMethod = name === 'webpack.mjs';
    const answers = ['200 static', ...(alsoMethod ? ['200 method'] : [])];
    // Rollup's bundle of undici 7 needs Node 22: it imports node:sqlite at once.
    expect(await outcomeOf(alone, nodeOf('24'), to, folder, 'static')).toEqual({
      before: answers,
      after: answers,
      fetched: 'fetch',
      inBundle: alsoMethod ? 'none' : 'PEER_MISSING true',
    });
  });

  test('esbuild, as CommonJS', async () => {
    const script = `import { buildSync } from 'esbuild';
      buildSync({ stdin: { resolveDir: '.', contents: "const { openTrust } = require('@handover/runtime'); const { dispatcher } = require('@handover/runtime/undici'); openTrust('none', { verify: false }).then((trust) => { let code; try { trust.dispatcher(); } catch (error) { code = error.code; } process.stdout.write(code + ' ' + typeof dispatcher(trust).dispatch); })" },
        outfile: '${join(alone, 'program.cjs')}', bundle: true, platform: 'node', format: 'cjs', logLevel: 'error' });`;
    expect(await start(cwd, process.execPath, ['--input-type=module', '-e', script]).ended).toMatchObject({
      code: 0,
    });
    expect(await start(alone, process.execPath, ['program.cjs']).ended).toEqual({
      code: 0,
      stdout: 'PEER_MISSING function',
      stderr: '',
    });
  });
});
