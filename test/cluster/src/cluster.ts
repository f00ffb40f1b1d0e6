import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HandoverError } from '@handover/material';
import type { AuditEvent, Cluster, ClusterOptions } from './api.ts';
import { findBinaries } from './binaries.ts';
import { clearAwayOrphans } from './clear-away.ts';
import type { Layout } from './components.ts';
import { controlPlane } from './control-plane.ts';
import { makeCredentials } from './credentials.ts';
import { startKeeper } from './keeper-client.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { type Binary, NEEDED } from './pins.ts';
import { places } from './places.ts';
import { reservePorts } from './ports.ts';

const run = promisify(execFile);
const MAX_OUTPUT = 64 * 1024 * 1024;

const neededFor = (options: ClusterOptions): readonly Binary[] => {
  const size = options.size ?? 'control-plane';
  return [
    ...NEEDED[size],
    ...(options.controllerManager === true && size !== 'node' ? (['kube-controller-manager'] as const) : []),
    ...(options.scheduler === true && size !== 'node' ? (['kube-scheduler'] as const) : []),
  ];
};

const readAudit = (path: string): readonly AuditEvent[] => {
  if (!existsSync(path)) return [];
  const whole = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return whole.map((line) => JSON.parse(line) as AuditEvent);
};

const feed = (command: string, args: readonly string[], input: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new HandoverError('CLUSTER_APPLY', errors.trim())),
    );
    child.stdin.on('error', () => undefined); // it said why on standard error
    child.stdin.end(input);
  });

/** A real Kubernetes, this process's own. It ends with this process, however that ends, unless it has a name. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const where = places();
  const say = options.say ?? ((line: string) => process.stderr.write(`cluster: ${line}\n`));
  await clearAwayOrphans(where.records);
  const bin = await findBinaries(where, neededFor(options), say);
  const id = randomBytes(4).toString('hex');
  const directory = join(where.clusters, id);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { ports, files } = await reservePorts(where.ports, 3);
  const [apiPort = 0, etcdPort = 0, etcdPeerPort = 0] = ports;
  const url = `https://127.0.0.1:${apiPort}`;
  const size = options.size ?? 'control-plane';
  const keeper = await startKeeper({
    recordPath: join(where.records, `${id}.json`),
    record: {
      name: options.name ?? '',
      size,
      url,
      directory,
      keepDirectory: options.keepDirectory ?? false,
      files,
      cgroups: [],
    },
  });
  try {
    const credentials = makeCredentials(join(directory, 'pki'), undefined);
    const layout: Layout = {
      directory,
      bin,
      bindAddress: '127.0.0.1',
      advertiseAddress: '127.0.0.1',
      apiPort,
      etcdPort,
      etcdPeerPort,
      innerUrl: url,
      credentials,
      keepEndpoints: false,
    };
    const plane = controlPlane({ keeper, layout, url, options, placed: (spec) => spec });
    const { caFile, admin } = credentials;
    const kubeconfig = writeKubeconfig(join(directory, 'kubeconfig'), { url, caFile, user: admin });
    await plane.start();
    if (options.name !== undefined) await keeper.leave();

    const kubectlArgs = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${join(directory, 'kubectl-cache')}`];
    const stop = (): Promise<void> => keeper.end();
    return {
      size,
      directory,
      url,
      kubeconfig,
      caFile,
      clientCert: admin.certFile,
      clientKey: admin.keyFile,
      apiServer: plane.apiServer,
      kubectl: async (...args) => {
        const { stdout } = await run(join(bin, 'kubectl'), [...kubectlArgs, ...args], {
          maxBuffer: MAX_OUTPUT,
        });
        return stdout;
      },
      apply: (...objects) =>
        feed(
          join(bin, 'kubectl'),
          [...kubectlArgs, 'apply', '--server-side', '--field-manager=test', '-f', '-'],
          JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
        ),
      kubeconfigFor: (commonName, organizations = []) =>
        credentials.kubeconfigFor(`user-${commonName.replaceAll(/[^a-zA-Z0-9.-]/g, '_')}`, url, {
          commonName,
          organizations,
        }),
      audit: () => readAudit(plane.auditLog),
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await keeper.end();
    throw error;
  }
}
