import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { ClusterOptions, NodeImage, TestNode } from '../api.ts';
import type { Layout } from '../components.ts';
import { BASES, STANDARD_IMAGES } from '../image/bases.ts';
import { type ImageSpec, writeImage } from '../image/image.ts';
import type { Keeper } from '../keeper-client.ts';
import { places, scriptPath } from '../places.ts';
import { ask, until } from '../ready.ts';
import { requireProgram } from '../system-packages.ts';
import { cgroupPaths, makeCgroups } from './cgroups.ts';
import { NODE, type NodeFiles, writeNodeFiles } from './configuration.ts';
import { freePort, type Network } from './network.ts';

const run = promisify(execFile);

export interface NodeInput {
  readonly keeper: Keeper;
  readonly network: Network;
  readonly layout: Layout;
  readonly url: string;
  readonly options: ClusterOptions;
}

export interface StartingNode {
  /** What does not need the API server: namespaces, containerd, images. */
  startRuntime(): Promise<void>;
  /** The kubelet, until the node is Ready, and kube-proxy. */
  join(): Promise<void>;
  /** Both again; pods go on meanwhile. */
  restart(): Promise<void>;
  readonly node: TestNode;
}

/** An image of folders on a base, as the writer takes it. */
export const folderImage = ({ base = 'node', files = {}, ...image }: NodeImage): ImageSpec => ({
  ...image,
  layers: [
    ...(base === 'scratch' ? [] : [BASES[base]]),
    (tar) => {
      for (const [path, from] of Object.entries(files)) tar.add(path.replace(/^\/+/, ''), from);
    },
  ],
});

export function makeNode({ keeper, network, layout, url, options }: NodeInput): StartingNode {
  const { directory, bin, credentials } = layout;
  const cgroup = `handover-${basename(directory)}`;
  const runc = requireProgram('runc');
  const PATH = [
    bin,
    dirname(runc),
    dirname(requireProgram('nft')),
    '/usr/sbin',
    '/usr/bin',
    '/sbin',
    '/bin',
  ].join(':');
  const runs = (name: string) => (): boolean => keeper.pidOf(name) !== undefined;
  let files: NodeFiles | undefined;
  let init = 0;

  const started = (): NodeFiles => {
    if (files === undefined) throw new Error('the node is not started');
    return files;
  };

  /** In the node's PID and mount namespaces. nsenter waits outside; if it is killed, so is what it waits for. */
  const launchInside = (name: string, args: readonly string[]): Promise<number> =>
    keeper.start({
      name,
      command: requireProgram('nsenter'),
      args: [
        `--target=${init}`,
        '--mount',
        '--pid',
        '--net',
        '--',
        requireProgram('setpriv'),
        '--pdeathsig',
        'SIGKILL',
        '--',
        join(bin, name),
        ...args,
      ],
      env: { PATH },
      log: join(directory, `${name}.log`),
    });

  const ctr = (...args: readonly string[]): Promise<unknown> =>
    run(join(bin, 'ctr'), ['--address', started().containerdSocket, '--namespace', 'k8s.io', ...args]);

  const load = async (image: ImageSpec): Promise<void> => {
    const archive = join(directory, `${image.name.replaceAll(/[^a-z0-9.]/g, '_')}.tar`);
    writeImage(archive, directory, image);
    await ctr('images', 'import', '--local', archive);
    rmSync(archive);
  };

  const startRuntime = async (): Promise<void> => {
    // Remembered before they are made: whoever clears away finds them at whatever point this ends.
    await keeper.remember({ cgroups: cgroupPaths(cgroup) });
    makeCgroups(cgroup);
    files = writeNodeFiles({ directory, bin, runc, cgroup, credentials, kubelet: options.kubelet ?? {} });
    await keeper.start(
      network.placed({
        name: 'node',
        command: requireProgram('unshare'),
        args: [
          '--mount',
          '--pid',
          '--fork',
          '--kill-child',
          '--propagation',
          'private',
          'sh',
          scriptPath('node-init.sh'),
          directory,
        ],
        log: join(directory, 'node.log'),
      }),
    );
    const pidFile = join(directory, 'init.pid');
    await until(async () => existsSync(pidFile), {
      what: 'namespaces of the node',
      directory,
      stillRuns: runs('node'),
    });
    init = Number(readFileSync(pidFile, 'utf8'));
    await keeper.adopt('node-init', init);
    await launchInside('containerd', ['--config', files.containerdConfig]);
    await until(
      () =>
        ctr('version').then(
          () => true,
          () => false,
        ),
      {
        what: 'containerd answering',
        directory,
        stillRuns: runs('containerd'),
      },
    );
    for (const image of STANDARD_IMAGES) await load(image);
  };

  const isReady = async (): Promise<boolean> => {
    const { status, body } = await ask(`${url}/api/v1/nodes/${NODE.name}`, credentials.admin);
    if (status !== 200) return false;
    const { conditions = [] } = (
      JSON.parse(body) as { status: { conditions?: { type: string; status: string }[] } }
    ).status;
    return conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  };

  const startKubelet = async (): Promise<void> => {
    const kubeconfig = credentials.kubeconfigFor('kubelet', layout.innerUrl, {
      commonName: `system:node:${NODE.name}`,
      organizations: ['system:nodes'],
    });
    const { kubeletConfig, kubeletRoot } = started();
    await launchInside('kubelet', [
      `--config=${kubeletConfig}`,
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${NODE.name}`,
      `--node-ip=${NODE.address}`,
      `--root-dir=${kubeletRoot}`,
    ]);
    await until(isReady, { what: 'node Ready', directory, stillRuns: runs('kubelet') });
  };

  const startProxy = async (): Promise<void> => {
    const user = { commonName: 'system:kube-proxy' };
    await keeper.start(
      network.placed({
        name: 'kube-proxy',
        command: join(bin, 'kube-proxy'),
        args: [
          `--kubeconfig=${credentials.kubeconfigFor('kube-proxy', layout.innerUrl, user)}`,
          '--proxy-mode=nftables',
          `--cluster-cidr=${NODE.range}`,
          `--hostname-override=${NODE.name}`,
          // Answers come back through the node although asker and answerer share a bridge.
          '--masquerade-all',
          // These would be set for the whole machine.
          '--conntrack-max-per-core=0',
          '--conntrack-min=0',
          '--conntrack-tcp-timeout-established=0',
          '--conntrack-tcp-timeout-close-wait=0',
        ],
        env: { PATH },
        log: join(directory, 'kube-proxy.log'),
      }),
    );
  };

  const joinCluster = async (): Promise<void> => {
    await Promise.all([startKubelet(), startProxy()]);
  };

  return {
    startRuntime,
    join: joinCluster,
    restart: async () => {
      await Promise.all(['kubelet', 'kube-proxy'].map((name) => keeper.stop(name, 'SIGKILL')));
      await joinCluster();
    },
    node: {
      name: NODE.name,
      address: NODE.address,
      enter: network.enter,
      loadImage: async (image) => {
        await load(folderImage(image));
        return image.name;
      },
      forward: async (target) => {
        const port = await freePort(keeper, places().ports);
        await network.forward(port, target);
        return port;
      },
      expose: async (port) => {
        await network.expose(`127.0.0.1:${port}`, port);
        await network.expose(`${NODE.address}:${port}`, port);
      },
      stopKubelet: () => keeper.stop('kubelet', 'SIGKILL'),
      startKubelet,
    },
  };
}
