import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { authority, homeWith, leaf } from '../test/home.ts';
import { build, folder, handoverAs } from '../test/real-process.ts';

beforeAll(build, 120_000);

test('a hook of a server that was never started says that the files are there and what to do', async () => {
  const pids = folder();
  const home = homeWith(
    authority('internal', {
      consumers: '[{name: web, presents: true, leaf: web, probe: {address: "127.0.0.1:1"}}]',
    }),
    leaf('web', {
      authority: 'internal',
      reload: `{signal: {pidFile: ${join(pids, 'web.pid')}, signal: SIGHUP}}`,
    }),
  );
  const advice =
    'handover reload default/web; its files are written: start the program if it does not run yet';
  const first = await handoverAs(['run', home, '--once']);
  expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining(advice) });
  expect((await handoverAs(['status', '--home', `dir:${home}`])).stdout).toContain(advice);
  const server = spawn(process.execPath, [
    '-e',
    'process.on("SIGHUP", () => {}); setInterval(() => {}, 1e6); console.log("up")',
  ]);
  onTestFinished(() => void server.kill('SIGKILL'));
  await once(server.stdout, 'data');
  writeFileSync(join(pids, 'web.pid'), `${server.pid}\n`);
  expect(await handoverAs(['run', home, '--once'])).toMatchObject({ code: 0, stderr: '' });
  // Once it has worked, a failure has another reason.
  writeFileSync(join(pids, 'web.pid'), '');
  const later = await handoverAs(['reload', 'web', '--home', `dir:${home}`]);
  expect(later.code).toBe(1);
  expect(later.stdout + later.stderr).toContain('failed at');
  expect(later.stdout + later.stderr).not.toContain('start the program');
});
