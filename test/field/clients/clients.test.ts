// S2 with the clients it came from: pods whose API server gets another CA, and the file in their service account's volume.
// Against: kube-rs, client-go and Node in pods; kube-apiserver.
import { copyFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@handover/test-api-server';
import { type NodeCluster, startCluster } from '@handover/test-cluster';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BUNDLED } from '../../../packages/operator/test/rotation/stage.ts';
import { buildGo, buildRust } from './build.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What each pod runs, and how long after its file changed it must be able to connect again; undefined: never. */
const CLIENTS = {
  handover: { command: ['node', '/app/handover.mjs'], within: 5_000 },
  // Looks at the file when a connection is made, at most once a minute.
  'kube-rs': { command: ['/app/follower'], within: 5 * 60_000 },
  // Looks every five minutes.
  'client-go': { command: ['/app/client-go'], within: 15 * 60_000 },
  'node:https': { command: ['node', '/app/once.mjs'], within: undefined },
} as const satisfies Record<string, { command: readonly string[]; within: number | undefined }>;
type Client = keyof typeof CLIENTS;
const NAMES = Object.keys(CLIENTS) as readonly Client[];
const podOf = (client: Client): string => client.replace(':', '-');

interface Line {
  readonly at: number;
  readonly what: 'ok' | 'failed' | 'file';
  readonly count: number;
  readonly why: string;
}

let cluster: NodeCluster;
beforeAll(async () => {
  const go = await buildGo(here('programs/client-go'), 'client-go');
  const rust = await buildRust(here('programs/kube-rs'), 'kube-rs', 'follower');
  const app = temporaryFolder();
  await build({
    entryPoints: [here('programs/node/handover.ts'), here('programs/node/once.ts')],
    outdir: app,
    outExtension: { '.js': '.mjs' },
    ...BUNDLED,
  });
  copyFileSync(join(go, 'client-go'), join(app, 'client-go'));
  copyFileSync(rust, join(app, 'follower'));
  cluster = await startCluster({ size: 'node' });
  const image = await cluster.node.loadImage({
    name: 'localhost/clients:1',
    // The runtime loads its peer when it is first needed, so that it is not in the bundle.
    files: { '/app': app, '/app/node_modules/undici': here('../../../node_modules/undici') },
    entrypoint: ['node'],
  });
  await cluster.apply(
    ...NAMES.map((client) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: podOf(client), namespace: 'default' },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image, imagePullPolicy: 'Never', command: CLIENTS[client].command }],
      },
    })),
  );
  const names = NAMES.map((client) => `pod/${podOf(client)}`);
  await cluster.kubectl('wait', '--for=condition=Ready', ...names, '--timeout=300s');
}, 1_800_000);
afterAll(() => cluster?.stop());

/** None while the kubelet restarts. */
const linesOf = async (client: Client): Promise<readonly Line[]> =>
  (await cluster.kubectl('logs', podOf(client)).catch(() => ''))
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);

const until = async <T>(look: () => Promise<T | undefined>, what: string, ms: number): Promise<T> => {
  for (const end = Date.now() + ms; ; await pause(1_000)) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`not within ${ms / 1000} s: ${what}`);
  }
};

const first = async (client: Client, what: Line['what'], since: number): Promise<Line | undefined> =>
  (await linesOf(client)).find((line) => line.what === what && line.at > since);

/** Seconds from the first to the second. */
const seconds = (from: Line, to: Line): string => ((to.at - from.at) / 1000).toFixed(1);

const rotated = async (): Promise<Readonly<Record<string, string>>> => {
  const began = Date.now();
  await cluster.apiServer.rotateServingCa({ keepOld: true });
  const figures: Record<string, string> = {};
  for (const client of NAMES) {
    const { within } = CLIENTS[client];
    const file = await until(() => first(client, 'file', began), `the file of ${client}`, 300_000);
    if (within === undefined) {
      // By now the others have connected, and it had the file for as long as they.
      expect((await linesOf(client)).findLast(({ what }) => what !== 'file')?.what).toBe('failed');
      figures[client] = 'never';
      continue;
    }
    const refused = await until(() => first(client, 'failed', began), `${client} to be refused`, 120_000);
    const good = await until(() => first(client, 'ok', refused.at), `${client} to connect`, within + 60_000);
    expect(good.at - file.at).toBeLessThan(within);
    figures[client] = `${seconds(file, good)} s after its file, ${seconds(refused, good)} s in all`;
  }
  console.log(`load ${loadavg()[0]?.toFixed(0)}: ${JSON.stringify(figures)}`);
  return figures;
};

test('S2.1 every client reaches the API server before its CA changes', async () => {
  for (const client of NAMES)
    await until(() => first(client, 'ok', 0), `${client} to connect`, 120_000).catch(async (error: Error) => {
      throw new Error(`${error.message}; it says ${JSON.stringify(await linesOf(client))}`);
    });
});

test.each(['first', 'second'])(
  'S2.1, S2.2 the %s new CA of the API server: ours connects at once after its file changed, kube-rs and client-go when they next look, a plain client never',
  async () => {
    const figures = await rotated();
    expect(figures['node:https']).toBe('never');
  },
  1_800_000,
);

test('S2.1 every pod is still the same process', async () => {
  const counts = await cluster.kubectl(
    ...[
      'get',
      'pods',
      '-o',
      'jsonpath={range .items[*]}{.status.containerStatuses[0].restartCount}{"\\n"}{end}',
    ],
  );
  expect(counts.trim().split('\n')).toEqual(NAMES.map(() => '0'));
});
