import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HandoverError } from '@handover/material';

/** Kubernetes releases that are pinned: the two ends of what Handover supports. */
export const RELEASES = ['newest', 'oldest'] as const;

export type Release = (typeof RELEASES)[number];

/** Everything that the harness reads from the environment. */
export interface Places {
  /** Binaries by the hash of their pins, and the lock of a build. */
  readonly cache: string;
  /** One record per running cluster, for `status`, `down` and the cleanup after a killed keeper. */
  readonly records: string;
  /** Clusters' own directories. Short, because the path of a unix socket has at most 107 characters (unix(7)). */
  readonly clusters: string;
  readonly ports: string;
  readonly release: Release;
  /** envtest's directory: etcd, kube-apiserver, kubectl. Unused where a release is requested: it may hold another. */
  readonly assets: string | undefined;
  /** In CI a test that cannot run is a failure, not a skip. */
  readonly isCi: boolean;
}

const releaseIn = (env: NodeJS.ProcessEnv): Release | undefined => {
  const asked = env.HANDOVER_KUBERNETES || undefined;
  if (asked === undefined) return undefined;
  const release = RELEASES.find((known) => known === asked);
  if (release !== undefined) return release;
  throw new HandoverError(
    'CLUSTER_RELEASE',
    `HANDOVER_KUBERNETES is ${JSON.stringify(asked)}: set it to ${RELEASES.join(' or ')}`,
  );
};

export const places = (env: NodeJS.ProcessEnv = process.env): Places => {
  const home = env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const scratch = join(tmpdir(), `handover-${process.getuid?.() ?? 'user'}`);
  const asked = releaseIn(env);
  return {
    release: asked ?? 'newest',
    cache: env.HANDOVER_CLUSTER_CACHE || join(home, 'handover', 'cluster'),
    records: join(scratch, 'records'),
    clusters: join(scratch, 'clusters'),
    ports: join(scratch, 'ports'),
    assets: asked === undefined ? env.KUBEBUILDER_ASSETS || undefined : undefined,
    isCi: Boolean(env.CI),
  };
};

/** From src/ and from dist/ alike. */
const packageDirectory = fileURLToPath(new URL('..', import.meta.url));

/** Go modules that pin what is built. */
export const modulesDirectory = join(packageDirectory, 'binaries');

/** Programs of the harness run from the build, because Node 20 does not run TypeScript. */
export const programPath = (name: 'keeper' | 'relay'): string => join(packageDirectory, 'dist', `${name}.js`);

export const scriptPath = (name: string): string => join(packageDirectory, name);
