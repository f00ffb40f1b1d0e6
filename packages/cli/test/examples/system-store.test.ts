// Against: Debian's update-ca-certificates, curl and openssl, in a mount namespace with trust stores of its own.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openIdentity } from '@handover/runtime';
import { PROGRAM } from '@handover/test-api-server';
import { expect, onTestFinished, test } from 'vitest';
import { directory, handover, started } from './around.ts';
import { perCall } from './servers/clients.ts';

const page = readFileSync(
  fileURLToPath(new URL('../../../../docs/recipes/hooks.md', import.meta.url)),
  'utf8',
);
const [recipe = ''] =
  page
    .split('```yaml\n')
    .find((block) => block.startsWith('apiVersion') && block.includes('update-ca-certificates'))
    ?.split('```') ?? [];

const RESOURCES = `apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: { name: internal }
spec: { rotation: { reloadWithin: 3s } }
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: { name: web }
spec: { authority: internal, dnsNames: [localhost] }
---
`;

/** Runs the command in a namespace in which these places are the test's own. */
const apart = (command: readonly string[], places: Readonly<Record<string, string>>) => {
  const mounts = Object.entries(places).map(([to, from]) => `mount --bind ${from} ${to}`);
  const script = [...mounts, 'umask 077', 'exec "$@"'].join(' && '); // the umask of the systemd unit
  return started(
    spawn('unshare', ['--mount', 'sh', '-ec', script, 'sh', ...command], {
      stdio: ['ignore', 'ignore', 'inherit'],
    }),
  );
};

test('the recipe keeps the CAs of an Authority in the machine’s trust store, where curl and openssl find them through a rotation', async () => {
  const [dir, local, etc, hooks] = [directory(), directory(), directory(), directory()];
  cpSync('/etc/ssl/certs', etc, { recursive: true, verbatimSymlinks: true });
  writeFileSync(join(dir, 'handover.yaml'), RESOURCES + recipe, { mode: 0o644 });
  const running = apart([process.execPath, PROGRAM, 'run', dir], {
    '/usr/local/share/ca-certificates': local,
    '/etc/ssl/certs': etc,
    '/etc/ca-certificates/update.d': hooks,
  });
  const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
  const inside = ['--target', String(running.pid), '--mount', ...nobody];
  const stored = () => readdirSync(local).length;
  await expect.poll(stored, { timeout: 30_000 }).toBe(1);
  const secret = join(dir, 'out/default/secrets/web');
  const old = join(directory(), 'old.crt');
  writeFileSync(old, readFileSync(join(secret, 'tls.crt')));
  /** Of the first certificate, by the hash links and by the one file of the store. */
  const verdicts = () =>
    [
      ['-no-CAfile', '-CApath', '/etc/ssl/certs'],
      ['-no-CApath', '-CAfile', '/etc/ssl/certs/ca-certificates.crt'],
    ].map((store) => spawnSync('nsenter', [...inside, 'openssl', 'verify', ...store, old]).status);
  await expect.poll(verdicts, { timeout: 30_000 }).toEqual([0, 0]);

  const identity = await openIdentity({ cert: join(secret, 'tls.crt'), key: join(secret, 'tls.key') });
  const server = identity.serve(createServer((_, response) => response.end('hello')));
  onTestFinished(() => {
    identity.close();
    server.close();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const answers: Record<string, string[]> = {};
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  for (const [name, ...args] of [
    ['curl', '-sS', `https://localhost:${port}/`],
    [
      'openssl',
      ...['s_client', '-connect', `localhost:${port}`, '-servername', 'localhost', '-verify_return_error'],
      ...['-no-CAfile', '-CApath', '/etc/ssl/certs'],
    ],
  ] as const) {
    const results: string[] = [];
    answers[name] = results;
    perCall(name, 'nsenter', [...inside, name, ...args]).start((result) => results.push(result), stop.signal);
  }
  /** Until each client has called three more times. */
  const called = () => {
    const before = Object.entries(answers).map(([name, { length }]) => [name, length] as const);
    const isOn = () => before.every(([name, length]) => (answers[name]?.length ?? 0) >= length + 3);
    return expect.poll(isOn, { timeout: 60_000 }).toBe(true);
  };
  await called();
  const rotated = await handover('rotate', 'internal', '--wait', '--home', `dir:${dir}`);
  expect(rotated).toMatchObject({ code: 0, stdout: expect.stringContaining('is complete') });
  // The last hook may still run.
  await expect.poll(() => [stored(), verdicts()], { timeout: 30_000 }).toEqual([1, [2, 2]]);
  await called();
  stop.abort();
  const { curl = [], openssl = [] } = answers;
  console.log(`the machine's store: ${curl.length} calls of curl, ${openssl.length} of openssl`);
  expect([...curl, ...openssl].filter((result) => result !== 'ok')).toEqual([]);
});
