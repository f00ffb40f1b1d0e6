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

/** What all pods of a cluster weigh together against one process beside them, in the kernel's units: ten of those. */
const ALL_PODS = 10_240;

/** A node's own group in every hierarchy, below which the kubelet makes those of pods; `nodes`: how many share the machine. */
export function makeCgroups(name: string, nodes: number): void {
  const all = hierarchies();
  for (const { path, version } of all) {
    const own = join(path, name);
    if (version === 2 && all.length === 1) {
      const offered = readFileSync(join(path, 'cgroup.controllers'), 'utf8').trim().split(' ');
      writeFileSync(join(path, 'cgroup.subtree_control'), offered.map((each) => `+${each}`).join(' '));
    }
    mkdirSync(own, { recursive: true });
    // A group weighs as much as one process beside it: all pods of the node together would get the time of one. Yet more
    // nodes are not to starve the control plane: what pods weigh is shared among them.
    if (version === 1 && existsSync(join(own, 'cpu.shares')))
      writeFileSync(join(own, 'cpu.shares'), String(Math.round(ALL_PODS / nodes)));
    // In version 1 a cpuset begins empty and takes no process until it is told its processors and memory nodes.
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if (version === 1 && existsSync(join(path, file)))
        writeFileSync(join(own, file), readFileSync(join(path, file)));
    }
  }
}
