// Envoy Gateway's certgen on one machine, and its chart's hook: what docs/recipes/envoy-gateway.md says about them.
// Against: Envoy Gateway's certgen --local, and its chart.
import { execFile } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { instant, parseCertificates } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { findHelm } from '@handover/test-cluster';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { handover as handoverAt } from '../../../packages/cli/test/capture.ts';
import { recipe } from '../../../packages/operator/test/cluster/certgen-stage.ts';
import { copyOf, envoyGatewayVersion, findTheirCertgen, gatewaySource } from '../src/envoy-gateway.ts';
import { handover } from '../src/processes.ts';

const run = promisify(execFile);
const HANDOVER = fileURLToPath(new URL('../../../packages/cli/bin/handover.js', import.meta.url));
const NAMES = ['envoy', 'envoy-gateway', 'envoy-rate-limit'] as const;

const theirCertgen = (cwd: string): Promise<unknown> =>
  run(findTheirCertgen(), ['--local', '--config-home', 'eg'], { cwd });
/** `NAME/FILE`, without the folders that hold the versions. */
const layout = (certs: string): readonly string[] =>
  readdirSync(certs)
    .flatMap((name) => readdirSync(join(certs, name)).map((file) => `${name}/${file}`))
    .filter((path) => !path.includes('/..'))
    .sort();

const [, section = ''] = /## On one machine, without Kubernetes\n([\s\S]*?)\n## /.exec(recipe) ?? [];
const [, commands = ''] = /```sh\n([\s\S]*?)```/.exec(section) ?? [];

test('S3.1 on one machine the recipe’s commands give Envoy Gateway the files of its own certgen --local, in the same places', async () => {
  const [theirs, ours] = [temporaryFolder(), temporaryFolder()];
  await theirCertgen(theirs);
  expect(commands).toContain('handover certgen');
  writeFileSync(join(ours, 'handover'), `#!/bin/sh\nexec '${process.execPath}' '${HANDOVER}' "$@"\n`);
  chmodSync(join(ours, 'handover'), 0o755);
  const env = { ...process.env, PATH: `${ours}:${process.env.PATH}` };
  const { stdout } = await run('sh', ['-e', '-c', commands], { cwd: ours, env });
  expect(section).toContain(`\`\`\`text\n${stdout}\`\`\``);
  expect(layout(join(ours, 'eg/certs'))).toEqual(layout(join(theirs, 'eg/certs')));
});

test('S3.11 files of certgen --local, moved as the recipe says, are taken over to the end: trust first, then a new leaf, same HMAC', async () => {
  const dir = temporaryFolder();
  await theirCertgen(dir);
  const read = (path: string): string => readFileSync(join(dir, 'eg/certs', path), 'latin1');
  const before = ['envoy/tls.crt', 'envoy/ca.crt', 'envoy-oidc-hmac/hmac-secret'].map(read);
  const files = layout(join(dir, 'eg/certs'));
  const [makeFolder = '', makeLink = ''] = commands.split('\n');
  const [, move = '', flags = ''] = /\(`(mv [^`]*)`\) and run certgen with `([^`]*)`/.exec(section) ?? [];
  expect([makeFolder, makeLink, flags]).toEqual([
    expect.stringMatching(/^mkdir /),
    expect.stringMatching(/^ln /),
    '--overwrite --wait',
  ]);
  await run('sh', ['-e', '-c', [makeFolder, move, makeLink].join('\n')], { cwd: dir });
  // Without --wait: the first of its steps.
  const home = `dir:${join(dir, 'certgen')}`;
  const ended = await handover('certgen', '--preset', 'envoy-gateway', '--home', home, '--overwrite');
  expect(ended).toMatchObject({ code: 0 });
  for (const name of NAMES) {
    const anchors = parseCertificates(read(`${name}/ca.crt`)).certificates;
    expect(anchors).toHaveLength(2);
    // The CA of Envoy Gateway's certgen is still among them.
    expect(anchors.map(({ pem }) => pem)).toContain(parseCertificates(before[1] ?? '').certificates[0]?.pem);
  }
  expect(read('envoy/tls.crt')).toBe(before[0]);
  // As printed: it goes on to the end. The preset waits for minutes, the test for seconds.
  const from = performance.now();
  const ahead = (): number => Math.round(200 * (performance.now() - from));
  const around = {
    get now() {
      return instant(Date.now() + ahead());
    },
    get sinceBoot() {
      return uptime() * 1_000 + ahead();
    },
  };
  const args = ['--preset', 'envoy-gateway', '--home', home, ...flags.split(' '), '--timeout', '60s'];
  expect(await handoverAt(['certgen', ...args], around)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(': Stable'),
  });
  const [ours, ...more] = parseCertificates(read('envoy/ca.crt')).certificates;
  expect(more).toEqual([]);
  expect(before[1]).not.toContain(ours?.pem);
  for (const name of NAMES) expect(read(`${name}/ca.crt`)).toBe(read('envoy/ca.crt'));
  expect(read('envoy/tls.crt')).not.toBe(before[0]);
  expect(read('envoy-oidc-hmac/hmac-secret')).toBe(before[2]);
  expect(layout(join(dir, 'eg/certs'))).toEqual(files);
});

test('S3.1 the chart’s hook does not overwrite, and --no-hooks leaves it out', async () => {
  const chart = join(temporaryFolder(), 'chart');
  copyOf(join(gatewaySource(), 'charts/gateway-helm'), chart);
  // What its release does with the values.
  const values = readFileSync(join(chart, 'values.tmpl.yaml'), 'utf8')
    .replace(/\$\{GatewayImage\}/, `example.com/gateway:v${envoyGatewayVersion()}`)
    .replace(/\$\{GatewayImagePullPolicy\}/, 'IfNotPresent');
  writeFileSync(join(chart, 'values.yaml'), values);
  const helm = await findHelm(() => {});
  const rendered = async (...flags: readonly string[]) => {
    const args = ['template', 'eg', chart, '-n', 'envoy-gateway-system', '--set', 'crds.enabled=false'];
    const { stdout } = await run(helm, [...args, ...flags], { maxBuffer: 64 * 1024 * 1024 });
    return parseAllDocuments(stdout).map(
      (one) => one.toJS() as { readonly kind: string; readonly spec: unknown },
    );
  };
  const jobs = (await rendered()).filter(({ kind }) => kind === 'Job');
  expect(jobs).toHaveLength(1);
  expect(JSON.stringify(jobs)).toContain('"command":["envoy-gateway","certgen"]');
  expect(JSON.stringify(jobs)).not.toContain('overwrite');
  const kinds = (await rendered('--no-hooks')).map(({ kind }) => kind);
  expect(kinds).toContain('Deployment');
  expect(kinds).not.toContain('Job');
  expect(kinds).not.toContain('MutatingWebhookConfiguration');
});
