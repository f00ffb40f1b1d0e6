import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { TestClock, temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { ERROR_LINE, handover, type Ran } from '../../test/capture.ts';

const folder = temporaryFolder();
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const good = write(
  'good.yaml',
  'apiVersion: handover.dev/v1alpha1\nkind: Authority\nmetadata: {name: mesh}\n',
);
const nowhere = write(
  'kubeconfig',
  JSON.stringify({
    clusters: [{ name: 'x', cluster: { server: 'http://127.0.0.1:1' } }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    users: [{ name: 'x', user: {} }],
    'current-context': 'x',
  }),
);

test.each([
  ['a file that is not there', ['-f', '/nonexistent.yaml'], 1, 'FILE_MISSING'],
  ['an empty file', ['-f', write('empty.yaml', '# nothing\n')], 1, 'FILE_EMPTY'],
  ['a file that is not YAML', ['-f', write('bad.yaml', 'a: [1\n')], 1, 'YAML_'],
  [
    'a resource of another API',
    ['-f', write('pod.yaml', 'apiVersion: v1\nkind: Pod\n')],
    1,
    'RESOURCE_INVALID',
  ],
  [
    'a kubeconfig that does not exist',
    ['-f', good, '--kubeconfig', '/nonexistent'],
    1,
    'KUBECONFIG_NOT_FOUND',
  ],
  ['an unknown value of --compat', ['-f', good, '--compat', 'vault'], 2, 'USAGE: unknown value "vault"'],
  ['a health address that is none', ['-f', good, '--health-address', 'here'], 2, 'USAGE'],
  ['an unknown value of --metrics-auth', ['-f', good, '--metrics-auth', 'maybe'], 2, 'USAGE'],
  [
    'a metrics address without an effect',
    ['-f', good, '--metrics-address', '8443'],
    2,
    'add that flag, or remove --metrics-address',
  ],
  [
    'a metrics certificate without an effect',
    ['-f', good, '--metrics-cert', folder],
    2,
    '--metrics-cert has no effect',
  ],
  ['a dashboard address that is none', ['-f', good, '--dashboard-address', '70000'], 2, 'USAGE'],
] as const)('the operator reports in one line %s', async (_what, flags, code, says) => {
  const ran = await handover(['operator', ...flags]);
  expect(ran).toMatchObject({ code, stdout: '' });
  expect(ran.stderr).toMatch(ERROR_LINE);
  expect(ran.stderr).toContain(says);
});

test('the operator reports in one line a health port that is taken', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ran = await handover(['operator', '-f', good, '--kubeconfig', nowhere, '--health-address', address]);
  expect(ran.code).toBe(1);
  expect(ran.stderr).toMatch(/^ADDRESS_UNUSABLE: /);
  server.close();
});

test('the operator goes on while the API server cannot be reached, and a signal ends it with success', async () => {
  const clock = new TestClock();
  const stop = new AbortController();
  clock.after(60_000, () => stop.abort());
  const ran = await clock.during(
    handover(
      [
        ...['operator', '-f', good, '--kubeconfig', nowhere],
        ...['--health-address', '127.0.0.1:0', '--dashboard-address', '0'],
      ],
      { signal: stop.signal, clock },
    ),
  );
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  const lines = ran.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  // Its page works before the API server does: that is when people look.
  const { url } = lines.find(({ event }) => event === 'dashboard') ?? {};
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  await expect(fetch(url)).rejects.toThrow();
  expect(lines.filter(({ event }) => event === 'failed').length).toBeGreaterThan(1);
  expect(lines.find(({ event }) => event === 'failed')).toMatchObject({ code: 'KUBE_UNAVAILABLE' });
});

test('the operator fails in one line if the port of --dashboard-address is taken, and runs without a page if the default one is', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const flags = ['operator', '-f', good, '--kubeconfig', nowhere, '--health-address', '127.0.0.1:0'];
  const asked = await handover([...flags, '--dashboard-address', String(port)]);
  expect(asked).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^PORT_TAKEN: .*--dashboard-address\n$/),
  });
  server.close();
  const withoutPort = async (): Promise<{ readonly isOurs: boolean; readonly ran: Ran }> => {
    const usual = createServer();
    // Another process may have the port already: that is the same case.
    const isOurs = await new Promise<boolean>((resolve) =>
      usual.once('error', () => resolve(false)).listen(8082, '127.0.0.1', () => resolve(true)),
    );
    const clock = new TestClock();
    const stop = new AbortController();
    clock.after(500, () => stop.abort());
    const ran = await clock.during(handover(flags, { signal: stop.signal, clock }));
    usual.close();
    return { isOurs, ran };
  };
  const isWithout = ({ stdout }: Ran): boolean => stdout.includes('"event":"no dashboard"');
  let tried = await withoutPort();
  // That other process may have ended meanwhile.
  while (!tried.isOurs && !isWithout(tried.ran)) tried = await withoutPort();
  expect(tried.ran.code).toBe(0);
  expect(isWithout(tried.ran)).toBe(true);
});

test('the help of the operator has an example', async () => {
  const { stdout } = await handover(['operator', '--help']);
  expect(stdout).toContain('$ handover operator -f webhook.yaml --namespace my-webhook');
});
