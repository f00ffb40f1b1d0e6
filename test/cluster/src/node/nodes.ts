import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { NodeImage, TestNode } from '../api.ts';
import { BASES, STANDARD_IMAGES } from '../image/bases.ts';
import { type ImageSpec, writeImage } from '../image/image.ts';
import { places } from '../places.ts';
import { requireProgram } from '../system-packages.ts';
import { NETWORK, type NodePlace } from './configuration.ts';
import { freePort } from './network.ts';
import { makeNode, type NodesInput } from './node.ts';

export interface StartingNodes {
  /** Starts what does not need the API server: namespaces, containerd, images. */
  startRuntime(): Promise<void>;
  /** Starts the kubelets and kube-proxy, and waits until every node is Ready. */
  join(): Promise<void>;
  /** Restarts all of these; pods keep running. */
  restart(): Promise<void>;
  readonly nodes: readonly TestNode[];
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

export function makeNodes(where: readonly NodePlace[], given: Omit<NodesInput, 'PATH'>): StartingNodes {
  const { keeper, network, layout } = given;
  const { directory, bin, credentials } = layout;
  const PATH = [
    bin,
    dirname(requireProgram('runc')),
    dirname(requireProgram('nft')),
    '/usr/sbin',
    '/usr/bin',
    '/sbin',
    '/bin',
  ].join(':');
  const nodes = where.map((place) => makeNode(place, { ...given, PATH }));

  const load = async (image: ImageSpec): Promise<void> => {
    const archive = join(directory, `${image.name.replaceAll(/[^a-z0-9.]/g, '_')}.tar`);
    writeImage(archive, directory, image);
    await Promise.all(nodes.map((node) => node.importImage(archive)));
    rmSync(archive);
  };

  /** One for all nodes: rules belong to a network, and the nodes share one. */
  const startProxy = async (): Promise<void> => {
    const user = { commonName: 'system:kube-proxy' };
    await keeper.start(
      network.placed({
        name: 'kube-proxy',
        command: join(bin, 'kube-proxy'),
        args: [
          `--kubeconfig=${credentials.kubeconfigFor('kube-proxy', layout.innerUrl, user)}`,
          '--proxy-mode=nftables',
          `--cluster-cidr=${NETWORK.range}`,
          `--hostname-override=${where[0]?.name ?? ''}`,
          // Answers come back through the node although both pods share a bridge.
          '--masquerade-all',
          // These sysctls would apply to the whole machine.
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
    await Promise.all([...nodes.map((node) => node.startKubelet()), startProxy()]);
  };

  return {
    startRuntime: async () => {
      await Promise.all(nodes.map((node) => node.startRuntime()));
      for (const image of STANDARD_IMAGES) await load(image);
    },
    join: joinCluster,
    restart: async () => {
      await Promise.all([...nodes.map((node) => node.stopKubelet()), keeper.stop('kube-proxy', 'SIGKILL')]);
      await joinCluster();
    },
    nodes: nodes.map(({ place, startKubelet, stopKubelet }) => ({
      name: place.name,
      address: place.address,
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
        await network.expose(`${NETWORK.address}:${port}`, port);
      },
      stopKubelet,
      startKubelet,
    })),
  };
}
