// Against: a container of runc with Node and the packed runtime, as an image has them.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, readFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { directory } from '../../packages/cli/test/examples/around.ts';
import { runContainer } from '../../packages/cli/test/examples/container.ts';
import { provide } from '../../packages/cli/test/examples/programs.ts';
import { cas, Files, leaves } from './src/world.ts';

const { bare } = inject('installed');
const runtime = join(bare, 'node_modules/@handover/runtime');
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

test("README's line of a Dockerfile makes an unchanged server take the new certificate and clients of the new CA", async () => {
  provide(['runc']);
  const readme = readFileSync(join(runtime, 'README.md'), 'utf8');
  const { name = '', value = '' } = /^ENV (?<name>\w+)="(?<value>.*)"$/m.exec(readme)?.groups ?? {};
  const rootfs = directory();
  execFileSync(process.execPath, [
    here('../../deploy/image/root.mjs'),
    join(bare, 'node_modules/handover'),
    rootfs,
  ]);
  cpSync(runtime, join(rootfs, 'app/node_modules/@handover/runtime'), { recursive: true });
  copyFileSync(here('./consumers/image-server.cjs'), join(rootfs, 'app/server.cjs'));
  const files = new Files(directory());
  runContainer({
    rootfs,
    command: ['/usr/local/bin/node', '/app/server.cjs'],
    env: {
      [name]: value,
      HANDOVER_CA: '/files/ca.crt',
      HANDOVER_CERT: '/files/tls.crt',
      HANDOVER_KEY: '/files/tls.key',
    },
    mounts: [[files.folder, '/files']],
  });
  /** What a new connection gets: it trusts one CA and shows a certificate of another or the same. */
  const request = (trusted: number, shown: number): Promise<string> =>
    new Promise((resolve) => {
      const tls = { ca: cas[trusted]?.pem, ...leaves[shown], agent: false, host: 'localhost' };
      get({ ...tls, socketPath: files.path('socket') }, (response) => {
        response.setEncoding('utf8').on('data', resolve);
      }).on('error', () => resolve('refused'));
    });
  await expect.poll(() => request(0, 0), { timeout: 30_000 }).toBe('hello');
  expect(await request(0, 1)).toBe('refused');
  expect(await request(1, 1)).toBe('refused');
  files.put({ 'ca.crt': cas[1].pem, 'tls.key': leaves[1]?.key ?? '', 'tls.crt': leaves[1]?.cert ?? '' });
  await expect.poll(() => request(1, 1), { timeout: 30_000 }).toBe('hello');
  expect(await request(1, 0)).toBe('refused');
});
