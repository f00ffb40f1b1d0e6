import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { NODES, nodeOf, programs } from './src/project.ts';
import { start } from './src/run.ts';
import { cas, Files, leaves, WORLD } from './src/world.ts';

const consumers = fileURLToPath(new URL('./consumers/', import.meta.url));
const cwd = programs();
for (const file of ['unchanged-clients.mjs', 'unchanged-servers.mjs', 'dial.cjs'])
  copyFileSync(join(consumers, file), join(cwd, file));

const readme = readFileSync(join(cwd, 'node_modules/@handover/runtime/README.md'), 'utf8');

const REGISTER = ['--import', '@handover/runtime/register'];
const under = (node: string, args: readonly string[], env: Readonly<Record<string, string>>) =>
  start(cwd, node, [...REGISTER, ...args], env).ended;

/** The answers of each kind of client or server, as a row for each, the same on every Node. */
const tableOf = (head: readonly string[], byNode: ReadonlyMap<string, Record<string, string[]>>): string => {
  const names = Object.keys([...byNode.values()][0] ?? {});
  const cell = (name: string, version: string) => {
    const answers = byNode.get(version)?.[name] ?? [];
    const missing = head.filter((_, index) => answers[index] !== 'yes');
    return missing.length === 0 ? 'yes' : `not: ${missing.join(', ')}`;
  };
  const rows = names.map((name) => [name, ...[...byNode.keys()].map((version) => cell(name, version))]);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const versions = [...byNode.keys()].map((version) => `Node ${version}`);
  return [line(['', ...versions]), line(['---', ...versions.map(() => '---')]), ...rows.map(line)].join('\n');
};

const CLIENT_STEPS = [
  'connects',
  'trusts an added CA',
  'refuses a removed CA',
  'goes on',
  'gets an answer to every request of a rotation under load',
];
const SERVER_STEPS = [
  'serves',
  'shows the new certificate',
  'takes clients of the new CA',
  'refuses clients of the removed CA',
  'refuses their old sessions',
];

test('unchanged clients and servers follow their files; the table of the documents says on which Node', async () => {
  const clients = new Map<string, Record<string, string[]>>();
  const servers = new Map<string, Record<string, string[]>>();
  for (const version of NODES) {
    const files = new Files(cwd);
    const env = { ...WORLD, ...files.env, CA_FILE: files.path('ca.crt'), FOLDER: files.folder };
    const status = { HANDOVER_STATUS: files.path('status.json') };
    const client = await under(nodeOf(version), ['unchanged-clients.mjs'], { ...env, ...status });
    expect(client).toMatchObject({ code: 0, stderr: '' });
    const { clients: byName, requests, failed } = JSON.parse(client.stdout);
    expect(failed).toEqual([]);
    console.log(`unchanged clients on Node ${version}: ${requests} requests, ${failed.length} failed`);
    clients.set(version, byName);
    files.put({ 'ca.crt': cas[0].pem });
    const server = await under(nodeOf(version), ['unchanged-servers.mjs'], env);
    expect(server).toMatchObject({ code: 0, stderr: '' });
    servers.set(version, JSON.parse(server.stdout));
  }
  const text = [
    '# What `@handover/runtime/register` covers',
    '',
    'Made by `test/pack/register.test.ts` from the packed package. "yes" means every step.',
    '',
    `## Clients: ${CLIENT_STEPS.join('; ')}`,
    '',
    tableOf(CLIENT_STEPS, clients),
    '',
    `## Servers made with the contents of the files: ${SERVER_STEPS.join('; ')}`,
    '',
    tableOf(SERVER_STEPS, servers),
    '',
  ].join('\n');
  await expect(text).toMatchFileSnapshot('../../docs/register-coverage.md');
}, 900_000);

describe.each(NODES)('on Node %s', (version) => {
  const node = nodeOf(version);
  /** Whether a program under `register` accepts servers of the CAs one, two and three. */
  const dial = async (env: Readonly<Record<string, string>>, how = 'default', flags = REGISTER) => {
    const ended = await start(cwd, node, [...flags, 'dial.cjs', how], { ...WORLD, ...env }).ended;
    expect(ended).toMatchObject({ code: 0 });
    return JSON.parse(ended.stdout) as unknown;
  };

  test('the CAs that Node trusts stay trusted, unless HANDOVER_CA_ONLY is true', async () => {
    const files = new Files(cwd);
    files.put({ 'extra.crt': cas[2].pem });
    const env = { HANDOVER_CA: files.path('ca.crt'), NODE_EXTRA_CA_CERTS: files.path('extra.crt') };
    expect(await dial(env, 'default', [])).toEqual([false, false, true]);
    expect(await dial(env)).toEqual([true, false, true]);
    expect(await dial({ ...env, HANDOVER_CA_ONLY: 'true' })).toEqual([true, false, false]);
    files.put({ 'extra.crt': cas[2].pem.replaceAll('\n', '\r\n') });
    expect(await dial(env)).toEqual([true, false, true]);
  });

  test('the line of a Dockerfile does the same', async () => {
    const [, value = ''] = /^ENV NODE_OPTIONS="(.*)"$/m.exec(readme) ?? [];
    expect(value).toContain('--import=/app/');
    const env = { HANDOVER_CA: new Files(cwd).path('ca.crt'), NODE_OPTIONS: value.replace('/app', cwd) };
    expect(await dial(env, 'default', [])).toEqual([true, false, false]);
  });

  test('a session of before the change is not resumed', async () => {
    const env = { HANDOVER_CA: new Files(cwd).path('ca.crt') };
    expect(await dial(env, 'sessions')).toEqual({ resumed: true, fresh: false, old: false });
  });

  test('a program that sets its own CA keeps it', async () => {
    const files = new Files(cwd);
    expect(await dial({ HANDOVER_CA: files.path('ca.crt') }, 'own')).toEqual([false, false, true]);
  });

  test('a program shows no certificate that it did not set', async () => {
    expect(await dial(new Files(cwd).env, 'certificates')).toEqual([0, 0, 0]);
  });

  test('without variables the program runs as it would', async () => {
    expect(await dial({})).toEqual([false, false, false]);
  });

  test('a file that cannot be used ends the program before it starts, with one line', async () => {
    const files = new Files(cwd);
    files.put({ 'other.key': leaves[1]?.key ?? '' });
    const CASES = [
      [{ HANDOVER_CA: files.path('none.crt') }, 'FILE_MISSING: '],
      [{ ...files.env, HANDOVER_KEY: files.path('other.key') }, 'KEY_MISMATCH: '],
      [{ HANDOVER_CERT: files.path('tls.crt') }, 'OPTION_INVALID: HANDOVER_CERT is set without HANDOVER_KEY'],
      [{ HANDOVER_STATUS: '8081' }, 'OPTION_INVALID: HANDOVER_STATUS is set, and no file to show'],
      [{ ...files.env, HANDOVER_STATUS: 'port' }, 'OPTION_INVALID: HANDOVER_STATUS must be a port'],
      [{ ...files.env, HANDOVER_CA_ONLY: '1' }, 'OPTION_INVALID: HANDOVER_CA_ONLY must be true'],
    ] as const;
    for (const [env, words] of CASES) {
      const ended = await under(node, ['-e', 'console.log("started")'], env);
      expect(ended).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(words) });
      expect(ended.stderr.trim().split('\n')).toHaveLength(1);
      expect(ended.stderr).not.toContain('PRIVATE KEY');
    }
  });

  test('a TLS profile reaches servers that do not choose versions themselves, and changes with its file', async () => {
    const files = new Files(cwd);
    const profile = (version: string) =>
      JSON.stringify({
        minTLSVersion: version,
        ciphers: ['TLS_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
      });
    files.put({ 'profile.json': profile('VersionTLS12'), 'next.json': profile('VersionTLS13') });
    const env = { ...files.env, HANDOVER_PROFILE: files.path('profile.json'), FOLDER: files.folder };
    expect(await dial(env, 'profile')).toEqual(['TLSv1.2', 'refused', 'TLSv1.2']);
  });

  test('the status shows what is loaded, also from a program with threads', async () => {
    const files = new Files(cwd);
    const env = { ...files.env, HANDOVER_STATUS: files.path('status.json'), POD_UID: 'uid' };
    expect(await dial(env, 'status')).toMatchObject({
      podUid: 'uid',
      sources: [
        { kind: 'trust', path: files.path('ca.crt'), loads: 1 },
        { kind: 'identity', path: files.path('tls.crt'), loads: 1 },
      ],
    });
  });
});
