import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { freePort } from '../api-server/src/free-port.ts';
import { run, start } from './src/run.ts';

const { bare, packed } = inject('installed');
const bin = (name: string): string => join(bare, 'node_modules/.bin', name);
const version = /handover-(\d+\.\d+\.\d+)\.tgz$/.exec(packed[1]?.filename ?? '')?.[1] ?? 'none';

test('npx finds the command, and it prints its version', async () => {
  expect(await run(bare, 'npx', '--no-install', 'handover', '--version')).toMatchObject({
    code: 0,
    stdout: `${version}\n`,
  });
});

test('both commands print help, and refuse an unknown word', async () => {
  const help = await run(bare, bin('handover'), '--help');
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toContain('Usage: handover ');
  const plugin = await run(bare, bin('kubectl-handover'), '--help');
  expect(plugin).toMatchObject({ code: 0, stderr: '' });
  expect(plugin.stdout).toContain('Usage: kubectl handover ');
  expect(await run(bare, bin('handover'), 'inspekt')).toMatchObject({
    code: 2,
    stderr: "USAGE: unknown command 'inspekt'; did you mean inspect?; see `handover --help`\n",
  });
});

test('every command loads', async () => {
  const { stdout } = await run(bare, bin('handover'), '--help');
  const commands = [...stdout.matchAll(/^ {2}([a-z]+)\b/gm)].map(([, name]) => name ?? '');
  expect(commands.length).toBeGreaterThanOrEqual(15);
  for (const name of commands)
    expect(await run(bare, bin('handover'), name, '--help'), name).toMatchObject({ code: 0, stderr: '' });
});

test('a directory gets its certificates, and inspect shows them', async () => {
  const handover = (...args: readonly string[]) => run(bare, bin('handover'), ...args);
  expect(await handover('init', 'own')).toMatchObject({ code: 0, stderr: '' });
  expect(await handover('run', 'own', '--once')).toMatchObject({ code: 0, stderr: '' });
  expect((await handover('status', '--home', 'dir:own')).stdout).toContain('default/internal');
  expect((await handover('verify', '--home', 'dir:own', '--json')).code).toBe(0);
  expect((await handover('inspect', 'own/out/default/secrets/web/tls.crt')).stdout).toContain('localhost');
});

test('the installation names the image of this version', async () => {
  const { code, stdout } = await run(bare, bin('handover'), 'install');
  expect(code).toBe(0);
  expect(stdout).toContain(`image: handover:${version}`);
});

test('a kubeconfig is read', async () => {
  const path = join(bare, 'kubeconfig');
  const cluster = { server: `http://127.0.0.1:${await freePort()}` };
  const context = { cluster: 'x', user: 'x' };
  const config = {
    clusters: [{ name: 'x', cluster }],
    contexts: [{ name: 'x', context }],
    users: [{ name: 'x', user: {} }],
    'current-context': 'x',
  };
  writeFileSync(path, JSON.stringify(config));
  const { code, stderr } = await run(
    bare,
    bin('handover'),
    'status',
    'mesh',
    '--home',
    'kube',
    '--kubeconfig',
    path,
  );
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^KUBE_UNAVAILABLE: .*ECONNREFUSED/),
  });
});

test('a simulation runs in threads', async () => {
  const { code, stdout, stderr } = await run(bare, bin('handover'), 'simulate', '--seeds', '60', '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({ seeds: 60, failures: 0 });
});

test('a rotation runs under load, with its page', async () => {
  const port = await freePort();
  const demo = start(bare, bin('handover'), ['demo', '--rotations', '1', '--json', '--port', `${port}`]);
  let over = false;
  demo.ended.finally(() => {
    over = true;
  });
  const page = async (path: string): Promise<Response | undefined> => {
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
      if (answer !== undefined || over) return answer;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  expect(await (await page('/'))?.text()).toContain('page.js');
  for (const path of ['/page.js', '/page.css', '/icon.svg', '/api/status'])
    expect((await page(path))?.status).toBe(200);
  const { code, stdout, stderr } = await demo.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const report = JSON.parse(stdout) as { readonly rotations: number; readonly handshakes: number };
  expect(report).toMatchObject({ rotations: 1, failures: 0 });
  expect(report.handshakes).toBeGreaterThan(100);
});
