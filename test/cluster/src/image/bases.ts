import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { requireProgram } from '../system-packages.ts';
import type { ImageSpec, Layer } from './image.ts';

/** The base of an image: empty, mount points, a shell and tools, or the Node that runs this. */
export type Base = 'scratch' | 'empty' | 'busybox' | 'node';

const world: Layer = (tar) => {
  for (const path of ['dev', 'proc', 'sys', 'etc']) tar.directory(path);
  tar.directory('tmp', 0o1777);
};

const busybox: Layer = (tar) => {
  const program = requireProgram('busybox');
  world(tar);
  tar.add('bin/busybox', program);
  const tools = execFileSync(program, ['--list'], { encoding: 'utf8' }).split('\n');
  for (const tool of tools) if (tool !== '' && tool !== 'busybox') tar.link(`bin/${tool}`, 'busybox');
};

/** Node and what its dynamic linker would load: `ldd` prints `name => path (address)`, and the linker itself bare. */
const node: Layer = (tar) => {
  const program = realpathSync(process.execPath);
  world(tar);
  tar.add('usr/local/bin/node', program);
  const libraries = execFileSync('ldd', [program], { encoding: 'utf8' });
  for (const [, path = ''] of libraries.matchAll(/(?:=>\s*|^\s*)(\/\S+)\s+\(/gm)) {
    tar.add(path.slice(1), realpathSync(path));
  }
};

export const BASES = { empty: world, busybox, node } as const satisfies Record<
  Exclude<Base, 'scratch'>,
  Layer
>;

export const PAUSE = 'localhost/pause:1';
export const BUSYBOX = 'localhost/busybox:1';

/** On every node from the start. */
export const STANDARD_IMAGES: readonly ImageSpec[] = [
  // Holds a pod's namespaces and does nothing; containerd ends it with SIGKILL.
  { name: PAUSE, layers: [busybox], entrypoint: ['/bin/sleep', '2147483647'] },
  { name: BUSYBOX, layers: [busybox] },
];
