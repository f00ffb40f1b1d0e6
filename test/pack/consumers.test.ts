import { copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { ROOT } from './src/install.ts';
import { NODES, nodeOf } from './src/project.ts';
import { type Ended, run } from './src/run.ts';

const { bare, withPeers } = inject('installed');
const CONSUMERS = fileURLToPath(new URL('./consumers/', import.meta.url));

beforeAll(() => {
  for (const folder of [bare, withPeers])
    for (const file of readdirSync(CONSUMERS)) copyFileSync(join(CONSUMERS, file), join(folder, file));
});

describe('a program', () => {
  const certificates = join(bare, 'ca/out/default/secrets/web');
  const WELL = {
    node: expect.any(String),
    said: 'hello DNS:localhost, IP Address:127.0.0.1',
    refused: 'refused',
    missing: 'FILE_MISSING',
    outside: 'NOT_IN_CLUSTER',
    embedded: expect.stringMatching(/^KUBECONFIG_/),
    errors: ['HandoverError', 'HandoverError'],
    rotated: 3,
    isOpenShift: false,
    oneOfEach: true,
  };
  const ALONE = { ...WELL, fetched: WELL.said, withoutUndici: 'PEER_MISSING', channel: 'none' };
  const TOGETHER = { ...WELL, fetched: WELL.said, withoutUndici: 'none', channel: 'function' };

  beforeAll(async () => {
    const handover = join(bare, 'node_modules/.bin/handover');
    expect(await run(bare, handover, 'init', 'ca')).toMatchObject({ code: 0, stderr: '' });
    expect(await run(bare, handover, 'run', 'ca', '--once')).toMatchObject({ code: 0, stderr: '' });
  });

  const outcomeOf = ({ code, stdout, stderr }: Ended): unknown => {
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };

  test.each(['esm.mjs', 'cjs.cjs'])(
    '%s makes its handshake with only the package installed',
    async (file) => {
      expect(outcomeOf(await run(bare, process.execPath, file, certificates))).toEqual(ALONE);
    },
  );

  test.each(['esm.mjs', 'cjs.cjs'])('%s makes its handshake with the optional peers, too', async (file) => {
    expect(outcomeOf(await run(withPeers, process.execPath, file, certificates, 'peers'))).toEqual(TOGETHER);
  });

  test.each(NODES)('both make their handshake on Node %s', async (version) => {
    for (const file of ['esm.mjs', 'cjs.cjs']) {
      const ended = await run(withPeers, nodeOf(version), file, certificates, 'peers');
      expect({ ...ended, stderr: '' }).toMatchObject({ code: 0 });
      expect(JSON.parse(ended.stdout)).toEqual({ ...TOGETHER, node: expect.stringMatching(`^${version}`) });
    }
  });

  test.each(NODES)(
    'require() takes the CommonJS copy where Node %s may not load ES modules',
    async (version) => {
      const flags = ['--no-experimental-require-module', '--no-warnings'];
      const ended = await run(withPeers, nodeOf(version), ...flags, 'commonjs.cjs', certificates);
      expect(outcomeOf(ended)).toEqual({
        said: WELL.said,
        fetched: WELL.said,
        peers: true,
        errors: true,
        rotated: 3,
        isOpenShift: false,
        copies: 2,
      });
    },
  );
  test('three workers of a cluster behind one status port are all answered for', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((listening) => server.once('listening', listening));
    const { port } = server.address() as { port: number };
    await new Promise((closed) => server.close(closed));
    const ended = await run(bare, process.execPath, 'cluster.cjs', certificates, String(port));
    expect(outcomeOf(ended)).toEqual({ named: true, holders: 3, watching: 'events' });
  });

  test('a removed client CA ends a kept-alive connection; wrong arguments are coded errors', async () => {
    const other = join(bare, 'other');
    const handover = join(bare, 'node_modules/.bin/handover');
    expect(await run(bare, handover, 'init', 'other')).toMatchObject({ code: 0 });
    expect(await run(bare, handover, 'run', 'other', '--once')).toMatchObject({ code: 0 });
    const otherCa = join(other, 'out/default/secrets/web/ca.crt');
    expect(outcomeOf(await run(bare, process.execPath, 'removed.mjs', certificates, otherCa))).toEqual({
      before: 'keep-alive',
      after: 'close',
      refused: 'refused',
      misspelt: 'OPTION_INVALID',
      event: 'OPTION_INVALID',
      unverified: 'OPTION_INVALID',
    });
  });

  test('internal modules cannot be imported', async () => {
    for (const name of [
      '@handover/runtime/events',
      '@handover/runtime/held',
      '@handover/runtime/clock',
      '@handover/runtime/dist/index.js',
      'handover/dist/main.js',
    ]) {
      const { stderr } = await run(bare, process.execPath, '-e', `import(${JSON.stringify(name)})`);
      expect(stderr).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
    }
  });
});

describe('types', () => {
  /** Everything is checked, our declarations too, unless those of a peer would be. */
  const compile = async (
    folder: string,
    files: readonly string[],
    options: Readonly<Record<string, unknown>>,
  ): Promise<Ended> => {
    const compilerOptions = {
      target: 'es2023',
      lib: ['es2023'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: folder === withPeers,
      types: ['node'],
      typeRoots: [join(ROOT, 'node_modules/@types')],
      ...options,
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    return run(
      folder,
      process.execPath,
      join(ROOT, 'node_modules/typescript/bin/tsc'),
      '-p',
      'tsconfig.json',
    );
  };
  const WELL = { code: 0, stdout: '', stderr: '' };
  const RESOLUTIONS = [
    ['node16', { module: 'node16' }],
    ['nodenext', { module: 'nodenext' }],
    ['bundler', { module: 'esnext', moduleResolution: 'bundler' }],
  ] as const;

  const as = (folder: string, file: string, extension: string): string => {
    const name = file.replace(/ts$/, extension);
    copyFileSync(join(CONSUMERS, file), join(folder, name));
    return name;
  };

  test.each(RESOLUTIONS)(
    'the whole surface resolves in an ES module by %s, without any peer',
    async (_name, options) => {
      const files = ['surface.ts', 'surface-command.ts'].map((file) => as(bare, file, 'mts'));
      expect(await compile(bare, files, options)).toEqual(WELL);
    },
  );

  test.each(RESOLUTIONS)(
    'with the peers installed their real types are used, with %s',
    async (_name, options) => {
      const files = ['surface.ts', 'peers.ts'].map((file) => as(withPeers, file, 'mts'));
      expect(await compile(withPeers, files, options)).toEqual(WELL);
    },
  );

  test.each(['node16', 'nodenext'])(
    'the whole surface of the runtime resolves in a CommonJS file with %s',
    async (module) => {
      const options = { module, esModuleInterop: true };
      expect(await compile(bare, [as(bare, 'surface.ts', 'cts')], options)).toEqual(WELL);
      const files = ['surface.ts', 'peers.ts'].map((file) => as(withPeers, file, 'cts'));
      expect(await compile(withPeers, files, options)).toEqual(WELL);
    },
  );

  test('the whole surface of the command resolves in a CommonJS file with nodenext', async () => {
    const options = { module: 'nodenext', esModuleInterop: true };
    expect(await compile(bare, [as(bare, 'surface-command.ts', 'cts')], options)).toEqual(WELL);
  });
});
