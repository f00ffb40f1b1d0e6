import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';
import { beforeEach, describe, expect, test } from 'vitest';
import { files, Scope } from '../test/fixture.ts';
import { MockCa } from '../test/mock-ca.ts';
import { eventually, get, ok } from '../test/world.ts';
import * as grpc from './grpc.ts';
import * as runtime from './index.ts';
import * as kubernetes from './kubernetes.ts';
import * as undici from './undici.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
// below node_modules, so that what is left external is found
const out = `${root}node_modules/.cache/handover-examples-${process.pid}/`;
const one = new MockCa('one');
const two = new MockCa('two');
let scope: Scope;

beforeEach(() => {
  scope = new Scope();
  mkdirSync(out, { recursive: true });
  scope.after(() => rmSync(out, { recursive: true, force: true }));
});

async function start(example: string, env: Record<string, string>): Promise<number> {
  const outfile = `${out}${example.replace(/\W/g, '-')}.mjs`;
  await build({
    entryPoints: [`${root}examples/${example}`],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['source'],
    external: ['fastify', '@nestjs/*', 'reflect-metadata', 'undici'],
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    logLevel: 'silent',
  });
  const child: ChildProcess = spawn(process.execPath, [outfile], {
    env: { PATH: process.env.PATH, PORT: '0', STATUS_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  scope.after(() => child.kill('SIGKILL'));
  let text = '';
  child.stdout?.on('data', (chunk) => {
    text += chunk;
  });
  await eventually(() => /listening on \d+/.test(text) || child.exitCode !== null);
  return Number(/listening on (\d+)/.exec(text)?.[1]);
}

test('the Fastify example serves the new certificate, and takes clients of the new CA, without a restart', async () => {
  const volume = scope.volume(files(one.leaf(), one));
  const port = await start('fastify/server.mjs', { TLS_DIR: volume.dir });
  const as = (ca: MockCa) => ({ ca: ca.pem, ...ca.leaf({ name: 'client' }), agent: false });
  expect((await get(`https://localhost:${port}`, as(one))).body).toBe('{"hello":"client"}');
  volume.write(files(two.leaf(), two));
  await eventually(() => ok(get(`https://localhost:${port}`, as(two))));
  expect(await ok(get(`https://localhost:${port}`, as(one)))).toBe(false);
});

test('the Nest example serves the new certificate without a restart', async () => {
  const volume = scope.volume(files(one.leaf(), one));
  const port = await start('nest/main.ts', { TLS_DIR: volume.dir });
  expect((await get(`https://localhost:${port}`, { ca: one.pem, agent: false })).body).toBe(
    '{"hello":"nest"}',
  );
  volume.write(files(two.leaf(), two));
  await eventually(() => ok(get(`https://localhost:${port}`, { ca: two.pem, agent: false })));
});

describe('The README', () => {
  const text = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const examples = [...text.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code = '']) => code);

  test('the examples of the README parse, and import only names that exist', async () => {
    expect(examples.length).toBeGreaterThan(4);
    const entries: Record<string, object> = {
      '@handover/runtime': runtime,
      '@handover/runtime/grpc': grpc,
      '@handover/runtime/kubernetes': kubernetes,
      '@handover/runtime/undici': undici,
    };
    for (const code of examples) {
      await transform(code, { loader: 'js', format: 'esm' });
      for (const [, names = '', from = ''] of code.matchAll(/import \{([^}]+)\} from '([^']+)'/g)) {
        const entry = entries[from];
        if (entry === undefined) continue;
        for (const name of names.split(',')) expect(Object.keys(entry)).toContain(name.trim());
      }
    }
  });
});
