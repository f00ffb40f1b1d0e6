// Against: a Go server that reads a TLS profile, the one of the recipe. What it negotiates, before and after a change of the profile.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { localTlsSupport } from '@handover/engine';
import { resolveTlsProfile } from '@handover/material';
import { freePort, PROGRAM, temporaryFolder } from '@handover/test-api-server';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { leafFor } from '../packages/cli/test/tls-servers.ts';
import { clientFolder } from './conformance/src/build.ts';

const run = promisify(execFile);
const folder = temporaryFolder();
const server = join(folder, 'server');
const file = join(folder, 'profile.json');
let port = 0;

let running: ChildProcess | undefined;
afterEach(() => stop());

/** The server as it stands in the recipe, at another port. */
beforeAll(async () => {
  const recipe = readFileSync(new URL('../docs/recipes/go.md', import.meta.url), 'utf8');
  const [, source = ''] = /`shop\/profiled\/main\.go`:\n\n```go\n([^`]*)```/.exec(recipe) ?? [];
  expect(source).toContain('profile.Load(path)');
  port = await freePort();
  const module = join(folder, 'module');
  mkdirSync(module);
  writeFileSync(join(module, 'main.go'), source.replaceAll('8444', String(port)));
  writeFileSync(
    join(module, 'go.mod'),
    `module shop\n\ngo 1.24\n\nrequire handover.dev/go v0.0.0\n\nreplace handover.dev/go => ${clientFolder('go')}\n`,
  );
  await run('go', ['build', '-o', server, '.'], { cwd: module, env: { ...process.env, GOWORK: 'off' } });
  const { cert, key } = await leafFor('ECDSA-P256');
  writeFileSync(join(folder, 'tls.crt'), cert);
  writeFileSync(join(folder, 'tls.key'), key, { mode: 0o600 });
});

const write = (type: string): void =>
  writeFileSync(file, resolveTlsProfile({ type }, localTlsSupport()).json);

/** Exit code and output of a server that did not begin to listen; undefined: it listens. */
const start = (path = file): Promise<{ readonly code: number | null; readonly said: string } | undefined> =>
  new Promise((resolve) => {
    const child = spawn(server, [folder, path]);
    running = child;
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('listening')) resolve(undefined);
    });
    child.once('close', (code) => resolve({ code, said }));
  });

const stop = async (): Promise<void> => {
  const child = running;
  running = undefined;
  if (child === undefined || child.exitCode !== null) return;
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await closed;
};

/** `handover tls check` against the file, or a named profile. */
const check = (...against: readonly string[]): Promise<{ readonly code: number; readonly said: string }> =>
  new Promise((resolve) => {
    const args = [PROGRAM, 'tls', 'check', `127.0.0.1:${port}`, ...against];
    execFile(process.execPath, args, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), said: stdout + stderr }),
    );
  });

test('S1.4 a Go server that reads its profile at the start negotiates the file’s profile, keeps it at a change, and takes the new one when it is started again', async () => {
  write('Intermediate');
  expect(await start()).toBeUndefined();
  const before = await check('--profile-file', file);
  expect(before, before.said).toMatchObject({ code: 0 });
  expect(await check('--profile', 'Modern')).toMatchObject({
    code: 1,
    said: expect.stringContaining('VERSION_ACCEPTED'),
  });

  write('Modern');
  expect(await check('--profile-file', file)).toMatchObject({
    code: 1,
    said: expect.stringContaining('VERSION_ACCEPTED'),
  });

  await stop();
  expect(await start()).toBeUndefined();
  const after = await check('--profile-file', file);
  expect(after, after.said).toMatchObject({ code: 0 });
  expect(await check('--profile', 'Intermediate')).toMatchObject({
    code: 1,
    said: expect.stringContaining('VERSION_REFUSED'),
  });
});

test('S1.2 a Go server without its profile, or with one that cannot be used, exits 1 and names the path', async () => {
  const missing = join(folder, 'missing.json');
  expect(await start(missing)).toMatchObject({ code: 1, said: expect.stringContaining(missing) });
  writeFileSync(file, '{"ciphers":["MADE-UP"],"minTLSVersion":"VersionTLS12"}');
  expect(await start()).toMatchObject({ code: 1, said: expect.stringContaining(file) });
});
