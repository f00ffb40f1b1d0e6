import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Credentials } from '../credentials.ts';
import { PAUSE } from '../image/bases.ts';

/** The network that the nodes of a cluster share; visible only in the cluster's own network. */
export const NETWORK = {
  bridge: 'pods0',
  /** The bridge's first address: the first node's and the control plane's. */
  address: '10.244.0.1',
  range: '10.244.0.0/16',
  bits: 16,
  apiPort: 6443,
  etcdPort: 2379,
  etcdPeerPort: 2380,
  kubeletPort: 10250,
} as const;

/** What distinguishes a node from the others of its cluster. */
export interface NodePlace {
  readonly name: string;
  /** Suffix of the names of its processes and logs; empty for the first. */
  readonly suffix: string;
  /** Another address of the bridge: the node's, and the gateway of its pods. */
  readonly address: string;
  readonly firstPod: string;
  readonly lastPod: string;
}

/** Nodes count from 0; each has 245 addresses for pods. */
export const nodePlace = (index: number): NodePlace => {
  const suffix = index === 0 ? '' : `-${index + 1}`;
  return {
    name: `test-node${suffix}`,
    suffix,
    address: `10.244.${index}.1`,
    firstPod: `10.244.${index}.10`,
    lastPod: `10.244.${index}.254`,
  };
};

export interface NodeFiles {
  readonly containerdConfig: string;
  readonly containerdSocket: string;
  readonly kubeletConfig: string;
  readonly kubeletRoot: string;
}

interface Input {
  readonly place: NodePlace;
  /** The node's own. */
  readonly directory: string;
  readonly bin: string;
  readonly runc: string;
  readonly cgroup: string;
  readonly credentials: Credentials;
  /** Feature gates. */
  readonly gates: Readonly<Record<string, boolean>>;
  readonly kubelet: Readonly<Record<string, unknown>>;
}

const text = (value: string): string => JSON.stringify(value); // a TOML basic string, for paths without odd characters

const containerdToml = ({ directory, bin, runc }: Input, socket: string): string => `version = 3
root = ${text(join(directory, 'containerd'))}
state = '/run/containerd'
# These would write below /opt and /etc of the machine.
disabled_plugins = ['io.containerd.internal.v1.opt', 'io.containerd.nri.v1.nri']
[grpc]
  address = ${text(socket)}
[ttrpc]
  address = '/run/containerd.ttrpc'
[plugins.'io.containerd.cri.v1.images']
  snapshotter = 'overlayfs'
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = ${text(PAUSE)}
[plugins.'io.containerd.cri.v1.runtime']
  # Without CAP_SYS_RESOURCE a score below one's own is refused, and runc gives up with "EOF".
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = 'runc'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = 'io.containerd.runc.v2'
      runtime_path = ${text(join(bin, 'containerd-shim-runc-v2'))}
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
        BinaryName = ${text(runc)}
        SystemdCgroup = false
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [${text(bin)}]
    conf_dir = ${text(join(directory, 'cni'))}
`;

const cniNetwork = ({ address, firstPod, lastPod }: NodePlace): object => ({
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: NETWORK.bridge,
      isGateway: false, // the bridge has its address already
      ipMasq: false,
      hairpinMode: true,
      ipam: {
        type: 'host-local',
        dataDir: '/run/cni-addresses',
        ranges: [[{ subnet: NETWORK.range, rangeStart: firstPod, rangeEnd: lastPod, gateway: address }]],
        routes: [{ dst: '0.0.0.0/0', gw: address }],
      },
    },
  ],
});

const kubeletConfiguration = (input: Input, socket: string): object => {
  const { place, directory, cgroup, credentials, gates, kubelet } = input;
  const serving = credentials.clientCa.issue(`kubelet${place.suffix}-serving`, {
    commonName: `system:node:${place.name}`,
    organizations: ['system:nodes'],
    usage: 'server',
    dnsNames: [place.name],
    ipAddresses: [place.address, '127.0.0.1'],
  });
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    containerRuntimeEndpoint: `unix://${socket}`,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: credentials.clientCa.certFile },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: serving.certFile,
    tlsPrivateKeyFile: serving.keyFile,
    address: place.address,
    port: NETWORK.kubeletPort,
    // All nodes share one loopback.
    healthzBindAddress: place.address,
    podLogsDir: join(directory, 'pod-logs'),
    volumePluginDir: join(directory, 'volume-plugins'),
    resolvConf: '',
    clusterDomain: 'cluster.local',
    // A test machine's disk is often nearly full.
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    imageGCHighThresholdPercent: 100,
    makeIPTablesUtilChains: false,
    failSwapOn: false,
    featureGates: gates,
    ...kubelet,
  };
};

export function writeNodeFiles(input: Input): NodeFiles {
  const { directory } = input;
  const containerdSocket = join(directory, 'containerd.sock');
  for (const name of ['cni', 'kubelet', 'pod-logs']) mkdirSync(join(directory, name), { recursive: true });
  const write = (name: string, content: string): string => {
    const path = join(directory, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  write('cni/10-pods.conflist', JSON.stringify(cniNetwork(input.place)));
  return {
    containerdConfig: write('containerd.toml', containerdToml(input, containerdSocket)),
    containerdSocket,
    // JSON, which is YAML.
    kubeletConfig: write(
      'kubelet.yaml',
      JSON.stringify(kubeletConfiguration(input, containerdSocket), null, 2),
    ),
    kubeletRoot: join(directory, 'kubelet'),
  };
}
