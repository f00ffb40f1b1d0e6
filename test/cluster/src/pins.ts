import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { modulesDirectory, type Release } from './places.ts';

/** Each Go module under binaries/, and the module whose version it pins. */
const MODULES = {
  kubernetes: 'k8s.io/kubernetes',
  etcd: 'go.etcd.io/etcd/server/v3',
  containerd: 'github.com/containerd/containerd/v2',
  cni: 'github.com/containernetworking/plugins',
} as const;

export type Module = keyof typeof MODULES;

interface Recipe {
  readonly module: Module;
  readonly path: string;
}

/** In build order: binaries that most tests need come first. */
export const RECIPES = {
  etcd: { module: 'etcd', path: MODULES.etcd },
  'kube-apiserver': { module: 'kubernetes', path: `${MODULES.kubernetes}/cmd/kube-apiserver` },
  kubectl: { module: 'kubernetes', path: `${MODULES.kubernetes}/cmd/kubectl` },
  'kube-controller-manager': {
    module: 'kubernetes',
    path: `${MODULES.kubernetes}/cmd/kube-controller-manager`,
  },
  'kube-scheduler': { module: 'kubernetes', path: `${MODULES.kubernetes}/cmd/kube-scheduler` },
  kubelet: { module: 'kubernetes', path: `${MODULES.kubernetes}/cmd/kubelet` },
  'kube-proxy': { module: 'kubernetes', path: `${MODULES.kubernetes}/cmd/kube-proxy` },
  containerd: { module: 'containerd', path: `${MODULES.containerd}/cmd/containerd` },
  'containerd-shim-runc-v2': {
    module: 'containerd',
    path: `${MODULES.containerd}/cmd/containerd-shim-runc-v2`,
  },
  ctr: { module: 'containerd', path: `${MODULES.containerd}/cmd/ctr` },
  bridge: { module: 'cni', path: `${MODULES.cni}/plugins/main/bridge` },
  loopback: { module: 'cni', path: `${MODULES.cni}/plugins/main/loopback` },
  'host-local': { module: 'cni', path: `${MODULES.cni}/plugins/ipam/host-local` },
} as const satisfies Record<string, Recipe>;

export type Binary = keyof typeof RECIPES;

export const BINARIES = Object.keys(RECIPES) as Binary[];

/** The binaries that a size needs; optional parts of the control plane come on top. */
export const NEEDED = {
  'control-plane': ['etcd', 'kube-apiserver', 'kubectl'],
  node: BINARIES,
} as const satisfies Record<string, readonly Binary[]>;

/** The folder under binaries/ that pins a module: Kubernetes has one for each release. */
const folderOf = (module: Module, release: Release): string =>
  module === 'kubernetes' && release === 'oldest' ? 'kubernetes-oldest' : module;

/** Where a binary is built. */
export const moduleDirectory = (module: Module, release: Release): string =>
  join(modulesDirectory, folderOf(module, release));

const read = (module: Module, release: Release, file: 'go.mod' | 'go.sum'): string =>
  readFileSync(join(moduleDirectory(module, release), file), 'utf8');

/** The pinned version, as in go.mod: `v1.37.1`. */
export const versionOf = (module: Module, release: Release): string => {
  for (const line of read(module, release, 'go.mod').split('\n')) {
    const words = line
      .trim()
      .replace(/^require\s+/, '')
      .split(/\s+/);
    if (words[0] === MODULES[module] && words[1]?.startsWith('v')) return words[1];
  }
  throw new Error(`binaries/${folderOf(module, release)}/go.mod does not require ${MODULES[module]}`);
};

/** -s -w: no symbols, a third smaller. The variables make each binary report its true version. */
const LINKER = {
  kubernetes: (version) => {
    const [major, minor] = version.slice(1).split('.');
    return ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((at) => [
      `-X ${at}.gitVersion=${version}`,
      `-X ${at}.gitMajor=${major}`,
      `-X ${at}.gitMinor=${minor}`,
      `-X ${at}.gitTreeState=clean`,
    ]);
  },
  etcd: () => [],
  containerd: (version) => [`-X ${MODULES.containerd}/version.Version=${version.slice(1)}`],
  cni: (version) => [`-X ${MODULES.cni}/pkg/utils/buildversion.BuildVersion=${version}`],
} as const satisfies Record<Module, (version: string) => readonly string[]>;

export const buildArguments = (binary: Binary, release: Release): readonly string[] => {
  const { module } = RECIPES[binary];
  const linker = ['-s', '-w', ...LINKER[module](versionOf(module, release))].join(' ');
  return ['build', '-mod=readonly', '-trimpath', '-ldflags', linker];
};

/** Changes with every pin, checksum, flag and platform, so that a changed pin gets a new folder in the cache. */
export const pinsHash = (release: Release): string => {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  for (const module of Object.keys(MODULES) as Module[]) {
    hash.update(read(module, release, 'go.mod')).update(read(module, release, 'go.sum'));
  }
  for (const binary of BINARIES) hash.update(buildArguments(binary, release).join('\0'));
  return hash.digest('hex').slice(0, 16);
};
