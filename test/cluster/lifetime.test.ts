import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { noNodeBecause, startCluster } from './src/index.ts';
import { cgroupPaths } from './src/node/cgroups.ts';
import { places } from './src/places.ts';
import { identify, isAlive, type ProcessId } from './src/process-id.ts';
import { readRecords } from './src/record.ts';

const recordOf = (directory: string) =>
  readRecords(places().records).find(({ record }) => record.directory === directory)?.record;

/** A separate process that starts a cluster, with pods if any are given, prints its directory, and then idles. */
const START = `
  const { startCluster } = await import(process.argv[1]);
  const cluster = await startCluster(JSON.parse(process.argv[2]));
  const objects = JSON.parse(process.argv[3]);
  if (objects.length > 0) {
    await cluster.apply(...objects);
    await cluster.kubectl('wait', '--for=condition=Ready', 'pod', '--all', '--timeout=120s');
  }
  process.stdout.write(cluster.directory + '\\n');
  setInterval(() => undefined, 1000);`;

const clusterOfAnotherProcess = async (options: object, ...pods: readonly object[]) => {
  const entry = fileURLToPath(new URL('./dist/index.js', import.meta.url));
  const words = [entry, JSON.stringify(options), JSON.stringify(pods)];
  const child = spawn(process.execPath, ['--input-type=module', '-e', START, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, directory: chunk.toString().trim() };
};

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await sleep(20);
};

it('runs beside another cluster and ends independently', async () => {
  const [one, two] = await Promise.all([startCluster(), startCluster()]);
  try {
    expect(one.url).not.toBe(two.url);
    await one.kubectl('create', 'namespace', 'only-in-one');
    await expect(two.kubectl('get', 'namespace', 'only-in-one')).rejects.toThrow(/not found/i);
    await one.stop();
    expect(await two.kubectl('get', 'namespace', 'default', '-o', 'name')).toBe('namespace/default\n');
  } finally {
    await Promise.all([one.stop(), two.stop()]);
  }
  expect([existsSync(one.directory), existsSync(two.directory)]).toEqual([false, false]);
});

it('is gone, with its directory and its ports, when the process that started it is killed', async () => {
  const { child, directory } = await clusterOfAnotherProcess({});
  const record = recordOf(directory);
  expect(record?.processes.map(({ name }) => name)).toEqual(['etcd', 'kube-apiserver']);
  const all: ProcessId[] = record === undefined ? [] : [record.keeper, ...record.processes];
  expect(all.every(isAlive)).toBe(true);
  child.kill('SIGKILL');
  await until(() => !all.some(isAlive));
  expect(existsSync(directory)).toBe(false);
  expect(record?.files.some((file) => existsSync(file))).toBe(false);
  expect(recordOf(directory)).toBeUndefined();
});

/** Processes in the same namespace as this one. */
const sharing = (namespace: string): string[] =>
  readdirSync('/proc').filter((name) => {
    try {
      return readlinkSync(`/proc/${name}/ns/net`) === namespace;
    } catch {
      return false; // not a process, or ended in between
    }
  });

const sleeper = (node: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `sleeper-on-${node}`, namespace: 'default' },
  spec: {
    nodeName: node,
    containers: [
      {
        name: 'main',
        image: 'localhost/busybox:1',
        imagePullPolicy: 'Never',
        command: ['sleep', '1000000'],
        volumeMounts: [{ name: 'memory', mountPath: '/memory' }],
      },
    ],
    volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }],
  },
});

/** Cgroups of this cluster's nodes, found on the machine, not in the record. */
const cgroupsOf = (directory: string): string[] =>
  cgroupPaths('')
    .flatMap((hierarchy) => readdirSync(hierarchy).map((name) => join(hierarchy, name)))
    .filter((path) => basename(path).startsWith(`handover-${basename(directory)}`))
    .sort();

/** Mounts and network interfaces of this machine. */
const machine = (): object => ({
  mounts: readFileSync('/proc/self/mountinfo', 'utf8').split('\n'),
  interfaces: readdirSync('/sys/class/net').sort(),
});

it.skipIf(noNodeBecause() !== undefined)(
  'leaves no pod, mount, bridge, namespace or cgroup of two nodes behind, when the process that started them is killed',
  async () => {
    const before = machine();
    const { child, directory } = await clusterOfAnotherProcess(
      { size: 'node', nodes: 2 },
      sleeper('test-node'),
      sleeper('test-node-2'),
    );
    expect(machine()).toEqual(before);
    const record = recordOf(directory);
    const network = record?.processes.find(({ name }) => name === 'network');
    if (record === undefined || network === undefined) throw new Error('no record of the cluster');
    const names = record.processes.map(({ name }) => name);
    for (const name of ['node', 'node-init', 'containerd', 'kubelet'])
      expect(names).toEqual(expect.arrayContaining([name, `${name}-2`]));
    const namespace = readlinkSync(`/proc/${network.pid}/ns/net`);
    expect(record.cgroups.filter((cgroup) => existsSync(cgroup))).toEqual(record.cgroups);
    expect(cgroupsOf(directory)).toEqual([...record.cgroups].sort());
    expect(sharing(namespace).length).toBeGreaterThan(5);
    child.kill('SIGKILL');
    await until(() => !isAlive(record.keeper));
    expect(sharing(namespace)).toEqual([]);
    expect(record.processes.filter(isAlive)).toEqual([]);
    expect(cgroupsOf(directory)).toEqual([]);
    expect(machine()).toEqual(before);
    expect(existsSync(directory)).toBe(false);
  },
);

it('ends with its keeper too, and the next start cleans up', async () => {
  const { directory } = await clusterOfAnotherProcess({});
  const record = recordOf(directory);
  if (record === undefined) throw new Error('no record of the cluster');
  process.kill(record.keeper.pid, 'SIGKILL');
  await until(() => !record.processes.some(isAlive));
  expect(existsSync(directory)).toBe(true);
  await (await startCluster()).stop();
  expect(existsSync(directory)).toBe(false);
});

it('does not confuse a process with an earlier one that had the same pid', () => {
  const self = identify(process.pid);
  if (self === undefined) throw new Error('this process cannot find itself');
  expect(isAlive(self)).toBe(true);
  expect(isAlive({ ...self, started: 'an earlier boot/1' })).toBe(false);
});
