import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const BIN = path('../bin/handover.js');
const fixture = path('../test/fixtures/same-name-1.pem');

const handover = (...args: readonly string[]) =>
  spawnSync(process.execPath, [BIN, ...args], { encoding: 'utf8' });

// The build may be older than the source: what is tested must be what is there. Nothing to do after `npm ci`.
beforeAll(() => {
  const tsc = path('../../../node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-b', path('..')], { encoding: 'utf8' });
  expect(stdout).toBe('');
  expect(status).toBe(0);
}, 120_000);

test('the built command answers on stdout with exit 0', () => {
  const { status, stdout, stderr } = handover('--version');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('the built command inspects a file', () => {
  const { status, stdout } = handover('inspect', fixture);
  expect(status).toBe(0);
  expect(stdout).toContain('subject: CN=Same Name\n');
});

test('inspect reads the output of a shell command', () => {
  const script = '"$0" "$1" inspect <(sleep 0.2; cat "$2")';
  const ran = spawnSync('bash', ['-c', script, process.execPath, BIN, fixture], { encoding: 'utf8' });
  expect(ran.stderr).toBe('');
  expect(ran.stdout).toContain('subject: CN=Same Name\n');
});

test('the built command exits 1 on failure and 2 on wrong usage, with one line on stderr', () => {
  expect(handover('inspect', '/nonexistent/ca.pem')).toMatchObject({
    status: 1,
    stdout: '',
    stderr: 'FILE_MISSING: /nonexistent/ca.pem does not exist; correct the path\n',
  });
  expect(handover('inspekt')).toMatchObject({
    status: 2,
    stdout: '',
    stderr: "USAGE: unknown command 'inspekt'; did you mean inspect?; see `handover --help`\n",
  });
});

test('kubectl handover looks at a cluster, and has the commands that are about one', () => {
  const plugin = (...args: readonly string[]) =>
    spawnSync(process.execPath, [path('../bin/kubectl-handover.js'), ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, KUBECONFIG: '/nonexistent/config' },
    });
  const { status, stdout } = plugin('--help');
  expect(status).toBe(0);
  expect(stdout).toContain('Usage: kubectl handover ');
  expect(stdout.match(/^ {2}[a-z]+/gm)).toEqual(['  status', '  rotate', '  plan', '  verify', '  distrust']);
  for (const args of [['status'], ['verify', 'mesh/internal']]) {
    expect(plugin(...args)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^KUBECONFIG_[A-Z_]+: .*\n$/),
    });
  }
  const asJson = plugin('rotate', 'mesh/internal', '--json');
  expect([asJson.status, JSON.parse(asJson.stderr)]).toMatchObject([
    1,
    { error: { code: expect.stringMatching(/^KUBECONFIG_/) } },
  ]);
  expect(plugin('status', '--home', 'dir:/nonexistent')).toMatchObject({
    stderr: expect.not.stringContaining('KUBECONFIG'),
  });
  expect(plugin('demo')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("unknown command 'demo'"),
  });
});

test('a simulation in threads gives the same report as one in a single thread', async () => {
  const { status, stdout } = handover('simulate', '--strategy', 'replace', '--seeds', '50', '--json');
  expect(status).toBe(1);
  const { simulate } = await import('@handover/sim');
  const { seconds: _here, ...expected } = await simulate({ strategy: 'replace', seeds: 50 }, 1);
  const { seconds: _there, ...report } = JSON.parse(stdout);
  expect(report).toEqual(expected);
});

test('Ctrl-C in the middle of a simulation exits 130 without an error message', async () => {
  const child = spawn(process.execPath, [BIN, 'simulate', '--seeds', '100000'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  const [begun] = await once(child.stderr, 'data');
  expect(String(begun)).toBe('0 of 100000 worlds\n');
  let more = '';
  child.stderr.on('data', (chunk) => {
    more += chunk;
  });
  child.kill('SIGINT');
  const [code] = await once(child, 'close');
  expect({ code, stdout, more }).toEqual({ code: 130, stdout: '', more: '' });
});

test('a reader of the output that stops early ends the command as SIGPIPE would, without a word', async () => {
  const files = Array.from({ length: 2_000 }, () => fixture);
  const child = spawn(process.execPath, [BIN, 'inspect', '--json', ...files], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdout.once('data', () => child.stdout.destroy());
  const [code] = await once(child, 'exit');
  expect({ code, stderr }).toEqual({ code: 141, stderr: '' });
});
