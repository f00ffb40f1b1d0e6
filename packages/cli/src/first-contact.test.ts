import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { build, eventually, folder, handoverAs, start } from '../test/real-process.ts';

beforeAll(build, 120_000);

/** As in the recipes: a server that does not run yet, its probe, and the hook that signals it. */
const homeOf = (pidFile: string): string => {
  const home = join(folder(), 'home');
  mkdirSync(home, { mode: 0o755 });
  const yaml = `apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: internal}
spec:
  consumers: [{name: web, presents: true, leaf: web, probe: {address: "127.0.0.1:1"}}]
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: web}
spec: {authority: internal, dnsNames: [localhost], reload: {signal: {pidFile: ${pidFile}, signal: SIGHUP}}}
`;
  writeFileSync(join(home, 'a.yaml'), yaml, { mode: 0o644 });
  return home;
};

test('before its server was ever started, a hook says that the files are there and what to do', async () => {
  const pids = folder();
  const home = homeOf(join(pids, 'web.pid'));
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

test('run says once when everything is in place', async () => {
  const home = homeOf('/none');
  const ready = 'ready: 1 authority and 1 leaf in place; running until stopped\n';
  const running = start(['run', home]);
  await eventually('ready', () => running.said().includes(ready));
  running.child.kill('SIGTERM');
  const { stdout } = await running.ended(8_000);
  expect(stdout.split(ready)).toHaveLength(2);
  expect(stdout.indexOf('Issue a leaf')).toBeLessThan(stdout.indexOf(ready));
  const json = start(['run', home, '--json']);
  await eventually('ready', () => json.said().includes('"event":"ready","authorities":1,"leaves":1'));
  json.child.kill('SIGTERM');
  await json.ended(8_000);
});

test('run is not ready while an Authority cannot start', async () => {
  const home = homeOf('/none');
  await handoverAs(['run', home, '--once']);
  rmSync(join(home, 'state/authorities'), { recursive: true });
  const running = start(['run', home]);
  await eventually('a look at the authority', () => running.said().includes('default/internal: Pending'));
  running.child.kill('SIGTERM');
  const { stdout } = await running.ended(8_000);
  expect(stdout).not.toContain('ready: ');
});
