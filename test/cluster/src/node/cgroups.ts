import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Mount points of every cgroup hierarchy: one per controller in version 1, one for all in version 2, both if hybrid. */
const hierarchies = (): { readonly path: string; readonly version: 1 | 2 }[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => {
      // Field 5 is the mount point; the type follows the separator (proc(5)).
      const path = line.split(' ')[4];
      const type = line.split(' - ')[1]?.split(' ')[0];
      if (path === undefined || (type !== 'cgroup' && type !== 'cgroup2')) return [];
      return [{ path, version: type === 'cgroup' ? 1 : 2 } as const];
    });

export const cgroupPaths = (name: string): readonly string[] =>
  hierarchies().map(({ path }) => join(path, name));

/** Weight of all pods of a cluster together, in the kernel's units: that of ten processes. */
const ALL_PODS = 10_240;

/** A node's cgroup in every hierarchy; the kubelet makes those of pods below it; `nodes`: how many share the machine. */
export function makeCgroups(name: string, nodes: number): void {
  const all = hierarchies();
  for (const { path, version } of all) {
    const own = join(path, name);
    if (version === 2 && all.length === 1) {
      const offered = readFileSync(join(path, 'cgroup.controllers'), 'utf8').trim().split(' ');
      writeFileSync(join(path, 'cgroup.subtree_control'), offered.map((each) => `+${each}`).join(' '));
    }
    mkdirSync(own, { recursive: true });
    // By default a group weighs as much as one process: all pods of the node together would get the time of one. More nodes
    // must not starve the control plane: the nodes share the weight of the pods.
    if (version === 1 && existsSync(join(own, 'cpu.shares')))
      writeFileSync(join(own, 'cpu.shares'), String(Math.round(ALL_PODS / nodes)));
    // In version 1 a cpuset starts empty and takes no process until its processors and memory nodes are set.
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if (version === 1 && existsSync(join(path, file)))
        writeFileSync(join(own, file), readFileSync(join(path, file)));
    }
  }
}
