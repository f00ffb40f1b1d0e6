import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { ClusterOptions } from '../api.ts';
import type { Layout } from '../components.ts';
import type { Keeper } from '../keeper-client.ts';
import { scriptPath } from '../places.ts';
import { ask, until } from '../ready.ts';
import { requireProgram } from '../system-packages.ts';
import { cgroupPaths, makeCgroups } from './cgroups.ts';
import { type NodeFiles, type NodePlace, writeNodeFiles } from './configuration.ts';
import type { Network } from './network.ts';

const run = promisify(execFile);

export interface NodesInput {
  readonly keeper: Keeper;
  readonly network: Network;
  readonly layout: Layout;
  readonly url: string;
  readonly options: ClusterOptions;
  /** For what runs on a node. */
  readonly PATH: string;
}

/** One machine, as Kubernetes sees it: PID and mount namespaces, a cgroup, containerd and a kubelet. */
export interface OneNode {
  readonly place: NodePlace;
  /** Starts what does not need the API server: namespaces and containerd. */
  startRuntime(): Promise<void>;
  importImage(archive: string): Promise<void>;
  /** Starts the kubelet and waits until the node is Ready. */
  startKubelet(): Promise<void>;
  stopKubelet(): Promise<void>;
}

export function makeNode(place: NodePlace, input: NodesInput): OneNode {
  const { keeper, network, layout, url, options, PATH } = input;
  const { bin, credentials } = layout;
  const { name, suffix, address } = place;
  // All logs are in the cluster's directory, where a failed start reads them.
  const logs = layout.directory;
  const directory = join(layout.directory, `node${suffix}`);
  const cgroup = `handover-${basename(layout.directory)}${suffix}`;
  const runs = (program: string) => (): boolean => keeper.pidOf(`${program}${suffix}`) !== undefined;
  let files: NodeFiles | undefined;
  let init = 0;

  const started = (): NodeFiles => {
    if (files === undefined) throw new Error('the node is not started');
    return files;
  };

  /** Runs in the node's PID and mount namespaces. nsenter waits outside; if it is killed, its child is killed too. */
  const launchInside = (program: string, args: readonly string[]): Promise<number> =>
    keeper.start({
      name: `${program}${suffix}`,
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
        join(bin, program),
        ...args,
      ],
      env: { PATH },
      log: join(logs, `${program}${suffix}.log`),
    });

  const ctr = (...args: readonly string[]): Promise<unknown> =>
    run(join(bin, 'ctr'), ['--address', started().containerdSocket, '--namespace', 'k8s.io', ...args]);
  const answers = (): Promise<boolean> =>
    ctr('version').then(
      () => true,
      () => false,
    );

  const isReady = async (): Promise<boolean> => {
    const { status, body } = await ask(`${url}/api/v1/nodes/${name}`, credentials.admin);
    if (status !== 200) return false;
    const { conditions = [] } = (
      JSON.parse(body) as { status: { conditions?: { type: string; status: string }[] } }
    ).status;
    return conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  };

  return {
    place,
    startRuntime: async () => {
      // Recorded before they are made, so that a cleanup finds them wherever this ends.
      await keeper.alsoRemoveCgroups(cgroupPaths(cgroup));
      makeCgroups(cgroup, options.nodes ?? 1);
      mkdirSync(directory, { mode: 0o700 });
      const runc = requireProgram('runc');
      const { gates } = layout.trustBundles;
      const kubelet = options.kubelet ?? {};
      files = writeNodeFiles({ place, directory, bin, runc, cgroup, credentials, gates, kubelet });
      await keeper.start(
        network.placed({
          name: `node${suffix}`,
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
          log: join(logs, `node${suffix}.log`),
        }),
      );
      const pidFile = join(directory, 'init.pid');
      await until(async () => existsSync(pidFile), {
        what: `namespaces of ${name}`,
        directory: logs,
        stillRuns: runs('node'),
      });
      init = Number(readFileSync(pidFile, 'utf8'));
      await keeper.adopt(`node-init${suffix}`, init);
      await launchInside('containerd', ['--config', files.containerdConfig]);
      await until(answers, {
        what: `containerd of ${name} answering`,
        directory: logs,
        stillRuns: runs('containerd'),
      });
    },
    importImage: async (archive) => {
      await ctr('images', 'import', '--local', archive);
    },
    startKubelet: async () => {
      const kubeconfig = credentials.kubeconfigFor(`kubelet${suffix}`, layout.innerUrl, {
        commonName: `system:node:${name}`,
        organizations: ['system:nodes'],
      });
      const { kubeletConfig, kubeletRoot } = started();
      await launchInside('kubelet', [
        `--config=${kubeletConfig}`,
        `--kubeconfig=${kubeconfig}`,
        `--hostname-override=${name}`,
        `--node-ip=${address}`,
        `--root-dir=${kubeletRoot}`,
      ]);
      await until(isReady, { what: `${name} Ready`, directory: logs, stillRuns: runs('kubelet') });
    },
    stopKubelet: () => keeper.stop(`kubelet${suffix}`, 'SIGKILL'),
  };
}
