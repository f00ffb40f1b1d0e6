import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import type { Cluster, ClusterOptions, NodeCluster, TestNode } from './api.ts';
import { readAudit } from './audit.ts';
import { findBinaries } from './binaries.ts';
import { clearAwayOrphans } from './clear-away.ts';
import type { Layout } from './components.ts';
import { type ControlPlane, controlPlane } from './control-plane.ts';
import { makeCredentials } from './credentials.ts';
import { type Keeper, startKeeper } from './keeper-client.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { kubectlOf } from './kubectl.ts';
import { NETWORK, nodePlace } from './node/configuration.ts';
import { startNetwork } from './node/network.ts';
import { makeNodes } from './node/nodes.ts';
import { type Binary, NEEDED } from './pins.ts';
import { places } from './places.ts';
import { reservePorts } from './ports.ts';
import { installPackages, noNodeBecause } from './system-packages.ts';
import { trustBundlesOf } from './trust-bundles.ts';

const neededFor = (options: ClusterOptions): readonly Binary[] => {
  if (options.size === 'node') return NEEDED.node;
  return [
    ...NEEDED['control-plane'],
    ...(options.controllerManager === true ? (['kube-controller-manager'] as const) : []),
    ...(options.scheduler === true ? (['kube-scheduler'] as const) : []),
  ];
};

interface Place {
  readonly keeper: Keeper;
  readonly directory: string;
  readonly bin: string;
  /** On this machine's loopback. */
  readonly ports: readonly number[];
  readonly url: string;
  readonly options: ClusterOptions;
}

interface Started {
  readonly plane: ControlPlane;
  readonly layout: Layout;
  readonly nodes?: readonly TestNode[];
}

const startOnLoopback = async ({ keeper, directory, bin, ports, url, options }: Place): Promise<Started> => {
  const [apiPort = 0, etcdPort = 0, etcdPeerPort = 0] = ports;
  const layout: Layout = {
    directory,
    bin,
    bindAddress: '127.0.0.1',
    advertiseAddress: '127.0.0.1',
    apiPort,
    etcdPort,
    etcdPeerPort,
    innerUrl: url,
    credentials: makeCredentials(join(directory, 'pki')),
    hasPods: false,
    trustBundles: trustBundlesOf(bin),
  };
  const plane = controlPlane({ keeper, layout, url, options, placed: (spec) => spec });
  await plane.start();
  return { plane, layout };
};

/** Runs everything in a separate network, so that traffic, bridge and rules of pods stay apart from the machine's. */
const startWithNode = async ({ keeper, directory, bin, ports, url, options }: Place): Promise<Started> => {
  const where = Array.from({ length: options.nodes ?? 1 }, (_, index) => nodePlace(index));
  const network = await startNetwork(
    keeper,
    directory,
    where.map(({ address }) => address),
  );
  const layout: Layout = {
    directory,
    bin,
    bindAddress: '0.0.0.0',
    advertiseAddress: NETWORK.address,
    apiPort: NETWORK.apiPort,
    etcdPort: NETWORK.etcdPort,
    etcdPeerPort: NETWORK.etcdPeerPort,
    innerUrl: `https://${NETWORK.address}:${NETWORK.apiPort}`,
    credentials: makeCredentials(join(directory, 'pki'), NETWORK.address),
    hasPods: true,
    trustBundles: trustBundlesOf(bin),
  };
  await network.forward(ports[0] ?? 0, `127.0.0.1:${NETWORK.apiPort}`);
  const starting = makeNodes(where, { keeper, network, layout, url, options });
  const { placed } = network;
  const plane = controlPlane({ keeper, layout, url, options, placed, restartNode: starting.restart });
  await Promise.all([plane.start(), starting.startRuntime()]);
  await starting.join();
  return { plane, layout, nodes: starting.nodes };
};

/** The address plan allows far more nodes than a test machine can run. */
const MOST_NODES = 16;

const checkNodes = (nodes: number): void => {
  if (Number.isInteger(nodes) && nodes >= 1 && nodes <= MOST_NODES) return;
  throw new HandoverError('CLUSTER_NODES', `${nodes} nodes: give a whole number from 1 to ${MOST_NODES}`);
};

/** A real Kubernetes of this process. It ends with this process, even a killed one, unless it has a name. */
export function startCluster(options: ClusterOptions & { readonly size: 'node' }): Promise<NodeCluster>;
export function startCluster(options?: ClusterOptions): Promise<Cluster>;
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster | NodeCluster> {
  const where = places();
  const size = options.size ?? 'control-plane';
  const say = options.say ?? ((line: string) => process.stderr.write(`cluster: ${line}\n`));
  if (size === 'node') {
    const reason = noNodeBecause();
    if (reason !== undefined) throw new HandoverError('CLUSTER_NO_NODE', reason);
    installPackages(say);
    checkNodes(options.nodes ?? 1);
  }
  await clearAwayOrphans(where.records);
  const bin = await findBinaries(where, neededFor(options), say);
  const id = randomBytes(4).toString('hex');
  const directory = join(where.clusters, id);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { ports, files } = await reservePorts(where.ports, size === 'node' ? 1 : 3);
  const url = `https://127.0.0.1:${ports[0] ?? 0}`;
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
    const place: Place = { keeper, directory, bin, ports, url, options };
    const {
      plane,
      layout,
      nodes = [],
    } = await (size === 'node' ? startWithNode(place) : startOnLoopback(place));
    const { credentials } = layout;
    const [first] = nodes;
    const { caFile, admin } = credentials;
    const kubeconfig = writeKubeconfig(join(directory, 'kubeconfig'), { url, caFile, user: admin });
    if (options.name !== undefined) await keeper.leave();
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
      kubectlPath: join(bin, 'kubectl'),
      ...kubectlOf(join(bin, 'kubectl'), kubeconfig, join(directory, 'kubectl-cache')),
      kubeconfigFor: (commonName, organizations = []) =>
        credentials.kubeconfigFor(`user-${commonName.replaceAll(/[^a-zA-Z0-9.-]/g, '_')}`, url, {
          commonName,
          organizations,
        }),
      audit: () => readAudit(plane.auditLog),
      stop,
      [Symbol.asyncDispose]: stop,
      ...(first === undefined ? {} : { node: first, nodes }),
    };
  } catch (error) {
    await keeper.end();
    throw error;
  }
}
