// Against: real packages from the registry, and the servers of Debian, on Node 24.
import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test, vi } from 'vitest';
import { type Package, program, provide } from '../../packages/cli/test/examples/programs.ts';
import { drivers, GROUPS } from './src/driver-packages.ts';
import { nodeOf } from './src/project.ts';
import { start } from './src/run.ts';
import { WORLD } from './src/world.ts';

/** What `drivers/rotation.mjs` prints of each driver. */
interface Outcome {
  readonly name: string;
  readonly version?: string;
  readonly line: string;
  readonly answered: number;
  readonly failed: readonly string[];
  /** What it said to a leaf of the CA that the rotation removed. */
  readonly removed: string;
  /** The same, of a CA that was removed while the other side changed nothing. */
  readonly unchanged: string;
  readonly isRefused: boolean;
}
interface Group {
  readonly node: string;
  readonly server: string;
  readonly outcome: readonly Outcome[];
}

// The three ways to install things go on at the same time.
const installing = drivers();
const node = nodeOf('24');
let cwd: string;
const servers = Object.values(GROUPS).filter((name) => name !== undefined);
const done = new Map<string, Group>();

/** Groups that take longest: the others fill the time beside them. */
const SLOW = ['rabbitmq', 'realtime', 'servers', 'postgresql', 'smtp'];
const SLOWEST_FIRST = Object.entries(GROUPS).sort(
  ([a], [b]) => Number(SLOW.includes(b)) - Number(SLOW.includes(a)),
);

beforeAll(async () => {
  provide(servers);
  cwd = await installing;
  const sources = fileURLToPath(new URL('./drivers/', import.meta.url));
  for (const file of readdirSync(sources)) copyFileSync(join(sources, file), join(cwd, file));
});

const programOf = (name: Package | undefined): string =>
  name === undefined ? '{}' : JSON.stringify({ [name]: program(name) });

// Most of the time a group waits for its server. More at once would starve requests on two cores.
vi.setConfig({ maxConcurrency: 3 });

test.concurrent.each(SLOWEST_FIRST)(
  'drivers of the group %s go through a rotation without a failed request, and refuse the removed CA',
  async (group, server) => {
    const { PATH = '', TMPDIR = '/tmp' } = process.env;
    const env = { ...WORLD, PATH: `${PATH}:/usr/sbin`, TMPDIR, PROGRAMS: programOf(server) };
    const ended = await start(cwd, node, ['rotation.mjs', group], env).ended;
    expect(ended).toMatchObject({ code: 0 });
    const result = JSON.parse(ended.stdout) as Group;
    for (const { name, version = 'of Node', answered, failed } of result.outcome)
      console.log(
        `| ${name}${group === 'servers' ? ' (server)' : ''} | ${version} | ${result.node} | ${answered} | ${failed.length} |`,
      );
    expect(result.outcome.length).toBeGreaterThan(0);
    for (const { name, answered, failed, isRefused, removed, unchanged } of result.outcome) {
      expect({ name, failed }).toEqual({ name, failed: [] });
      const said = { name, removed, unchanged };
      expect({ ...said, isRefused }).toEqual({ ...said, isRefused: true });
      expect(answered).toBeGreaterThanOrEqual(100);
    }
    done.set(group, result);
  },
);

test('the table of the documents says what was tested', async () => {
  const table = (head: string, groups: readonly (readonly [string, Group])[]) => [
    `| ${head} | version | the line | tested with |`,
    '| --- | --- | --- | --- |',
    ...groups.flatMap(([, { server, outcome }]) =>
      outcome.map(
        ({ name, version = 'of Node', line }) => `| ${name} | ${version} | \`${line}\` | ${server} |`,
      ),
    ),
  ];
  const all = Object.keys(GROUPS).flatMap((name) => {
    const group = done.get(name);
    return group === undefined ? [] : [[name, group] as const];
  });
  const text = [
    '# Drivers: one line each',
    '',
    'Made by `test/pack/drivers.test.ts` from the packed package, on Node 24. Each driver sends requests while the CA is replaced: the old CA,',
    'both CAs, certificates of the new CA, the new CA alone. No request fails, and afterwards the driver refuses a server, or a client, of the',
    'old CA, also when it resumes a session. Both sides show a certificate. [How many requests](benchmarks/runtime.md#drivers-through-a-rotation).',
    '',
    'In each line:',
    '',
    '```js',
    "import { openIdentity } from '@handover/runtime';",
    '',
    "const identity = await openIdentity({ cert: '/etc/mesh/tls.crt', key: '/etc/mesh/tls.key', ca: '/etc/mesh/ca.crt' });",
    'const agent = identity.httpsAgent({ maxSockets: 50 });',
    'const dispatcher = identity.dispatcher({ connections: 50 }); // of undici',
    '```',
    '',
    'A client that shows no certificate uses `trust` of `openTrust` in place of `identity`: both have the same methods.',
    '',
    '## Clients',
    '',
    'Servers with a name of their own are the real programs, of Debian or npm; "stand-in" speaks just enough of the protocol over real TLS.',
    '',
    ...table(
      'client',
      all.filter(([group]) => group !== 'servers'),
    ),
    '',
    'mysql2 checks the name in a certificate only with `verifyIdentity`. `credentials` and `serverCredentials` are of `@handover/runtime/grpc`,',
    '`hotKubeConfig` of `@handover/runtime/kubernetes`, `HttpConnection` of `@elastic/elasticsearch`. socket.io-client keeps what it copied from',
    '`tlsOptions()`: give it the agent, or copy them anew for each connection. Connections that are open at a change stay open with',
    'drivers that get `tlsOptions()`; the driver or the server ends them.',
    '',
    'Of the servers: Dovecot closes connections that are logging in when it reloads, so requests pause then. Mosquitto 2.0 reads the CAs of its',
    'clients only at its start, so it has both from the start. RabbitMQ does not read a new CA file at once, so the test goes on when it accepts a',
    'client of the new CA.',
    '',
    '## Servers',
    '',
    'Without `requestCert` they ask clients for no certificate.',
    '',
    ...table(
      'server',
      all.filter(([group]) => group === 'servers'),
    ),
    '',
  ].join('\n');
  await expect(text).toMatchFileSnapshot('../../docs/drivers.md');
});
