import { execFile, spawn } from 'node:child_process';
import { copyFileSync, createWriteStream, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type InstallOptions, installation } from '@handover/install';
import type { Kube } from '@handover/kube';
import { PROGRAM, temporaryFolder } from '@handover/test-api-server';
import { type NodeCluster, startCluster } from '@handover/test-cluster';
import { type BuildOptions, build } from 'esbuild';
import { connectTo } from '../cluster/stage.ts';
import { Collector } from './collector.ts';
import { operatorImage } from './image.ts';
import type { Target, Verdict } from './pod/handshake.ts';

const run = promisify(execFile);
const API_INSIDE = 6443;
/** A program as one file, from source, for pods that have no node_modules. */
export const BUNDLED: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  conditions: ['source'],
  // Bundled CommonJS loads Node's own modules with require.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom('/');",
  },
  logLevel: 'warning',
};

/** A cluster with a node, our kinds and rights, the mesh's image, and a collector for its pods' reports. */
export interface RotationStage {
  readonly cluster: NodeCluster;
  readonly kube: Kube;
  readonly image: string;
  readonly collector: Collector;
  /** Where pods find the collector. */
  readonly collectorUrl: string;
  /** `handover operator` as a process in the cluster's network, with the rights of its installation. */
  startOperator(...flags: readonly string[]): RunningOperator;
  /** The Deployment of `handover install`, both replicas, and waits until they are ready. */
  installOperator(): Promise<void>;
  /** `handover …`, as an administrator outside; its standard output. */
  handover(...args: readonly string[]): Promise<string>;
  /** One handshake with each, as a client with this certificate that accepts any server certificate. */
  tryFromInside(
    targets: readonly Target[],
    pair: { readonly cert: string; readonly key: string },
  ): Promise<readonly Verdict[]>;
  stop(): Promise<void>;
}

export interface LogLine {
  readonly at: string;
  readonly level: string;
  readonly event: string;
  readonly phase?: string;
  readonly [more: string]: unknown;
}

export interface RunningOperator {
  log(): readonly LogLine[];
  /** Gets each line of its log as it is written. */
  onLine(listener: (line: LogLine) => void): void;
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/** `handover` of that source as one file, with its package.json where it looks for it, in a new folder of `parent`. */
export const bundleHandover = async (cli: string, parent: string): Promise<string> => {
  const folder = mkdtempSync(join(parent, 'handover-'));
  await build({
    stdin: { contents: "import { main } from './main.ts'; main();", resolveDir: join(cli, 'src') },
    outfile: join(folder, 'dist/main.mjs'),
    ...BUNDLED,
  });
  copyFileSync(join(cli, 'package.json'), join(folder, 'package.json'));
  return folder;
};

/** `embed()` of that source as one module, in a new folder of `parent`. */
export const bundleEmbed = async (operator: string, parent: string): Promise<string> => {
  const folder = mkdtempSync(join(parent, 'handover-'));
  await build({
    entryPoints: [join(operator, 'src/index.ts')],
    outfile: join(folder, 'dist/embed.mjs'),
    ...BUNDLED,
  });
  return folder;
};

export const bundlePod = async (): Promise<string> => {
  const folder = temporaryFolder();
  await build({
    entryPoints: ['main', 'profile', 'try'].map((name) =>
      fileURLToPath(new URL(`./pod/${name}.ts`, import.meta.url)),
    ),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    ...BUNDLED,
  });
  return folder;
};

interface StageOptions {
  readonly nodes?: number;
  /** Nothing of ours is installed. */
  readonly bare?: boolean;
  readonly install?: Partial<InstallOptions>;
}

/** `kubelet`: fields of its configuration that override the harness's own. */
export async function setRotationStage(
  kubelet: Readonly<Record<string, unknown>> = {},
  { nodes = 1, bare = false, install = {} }: StageOptions = {},
): Promise<RotationStage> {
  const cluster = await startCluster({ size: 'node', nodes, kubelet });
  const end = new AbortController();
  const kube = connectTo(cluster, end.signal);
  const server = createServer();
  const collector = new Collector(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await cluster.node.expose(port);
  const programs = await bundlePod();
  const image = await cluster.node.loadImage({
    name: 'localhost/mesh:1',
    files: { '/app': programs },
    entrypoint: ['node', '/app/main.mjs'],
  });
  if (!bare) {
    const all = installation({ namespace: 'handover-system', image: 'none', ...install });
    for (const object of all.filter(({ kind }) => kind !== 'Deployment')) await cluster.apply(object);
    await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s');
  }
  const operators: RunningOperator[] = [];
  const account = insideKubeconfig(cluster);
  let started = 0;
  return {
    cluster,
    kube,
    image,
    collector,
    collectorUrl: `http://${cluster.node.address}:${port}/`,
    startOperator: (...flags) => {
      const log = join(cluster.directory, `operator-${++started}.log`);
      const operator = startOperator(cluster, account, log, flags);
      operators.push(operator);
      return operator;
    },
    installOperator: async () => {
      const own = await cluster.node.loadImage(await operatorImage('localhost/handover:1'));
      await cluster.apply(...installation({ namespace: 'handover-system', image: own }));
      const what = ['rollout', 'status', 'deployment', '-n', 'handover-system', '--timeout=300s'];
      await cluster.kubectl(...what);
    },
    handover: async (...args) => {
      const { stdout } = await run(process.execPath, [PROGRAM, ...args, '--kubeconfig', cluster.kubeconfig], {
        maxBuffer: 64 * 1024 * 1024,
      });
      return stdout;
    },
    tryFromInside: async (targets, pair) => {
      const [command = '', ...enter] = cluster.node.enter;
      const wish = JSON.stringify({ targets, ...pair });
      const { stdout } = await run(command, [...enter, process.execPath, join(programs, 'try.mjs'), wish]);
      return JSON.parse(stdout) as readonly Verdict[];
    },
    stop: async () => {
      await Promise.all(operators.map((operator) => operator.stop()));
      end.abort();
      server.closeAllConnections();
      server.close();
      await cluster.stop();
    },
  };
}

/** The account that the installation makes, for a process inside: the API server has another address there. */
const insideKubeconfig = (cluster: NodeCluster): string => {
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:handover-system', 'system:authenticated'];
  const outside = cluster.kubeconfigFor('system:serviceaccount:handover-system:handover', groups);
  const path = join(cluster.directory, 'operator.kubeconfig');
  const inside = `https://${cluster.node.address}:${API_INSIDE}`;
  writeFileSync(path, readFileSync(outside, 'utf8').replaceAll(cluster.url, inside));
  return path;
};

const startOperator = (
  cluster: NodeCluster,
  kubeconfig: string,
  log: string,
  flags: readonly string[],
): RunningOperator => {
  const [command = '', ...enter] = cluster.node.enter;
  const child = spawn(
    command,
    [
      ...enter,
      ...['setpriv', '--pdeathsig', 'SIGKILL', '--', process.execPath, PROGRAM, 'operator'],
      ...['--kubeconfig', kubeconfig, '--namespace', 'handover-system', ...flags],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const file = createWriteStream(log);
  const lines: LogLine[] = [];
  const listeners: ((line: LogLine) => void)[] = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    file.write(chunk);
    const parts = `${rest}${chunk}`.split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts.filter((candidate) => candidate.startsWith('{'))) {
      const line = JSON.parse(part) as LogLine;
      lines.push(line);
      for (const listener of listeners) listener(line);
    }
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    file.write(chunk);
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    log: () => lines,
    onLine: (listener) => void listeners.push(listener),
    signal: (signal) => void child.kill(signal),
    stop: async () => {
      child.kill('SIGTERM');
      child.kill('SIGCONT'); // a stopped process gets no signal
      await ended;
    },
  };
};
