import { readFile, stat } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { KubeError } from '../error.ts';
import type { KubeConfig } from './config.ts';
import { type MergedConfig, mergeConfigs, parseKubeConfig } from './parse.ts';
import { resolveConfig } from './resolve.ts';

export interface LoadOptions {
  /** One file, as with `kubectl --kubeconfig`. It must exist. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** The folder in which the kubelet mounts the service account. */
  readonly serviceAccount?: string | undefined;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const MAX_BYTES = 8 * 1024 * 1024;

/** undefined when the file does not exist. */
async function read(path: string): Promise<string | undefined> {
  try {
    if ((await stat(path)).size <= MAX_BYTES) return await readFile(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === undefined) throw cause;
    if (code === 'ENOENT') return undefined;
    const message = `cannot read ${path} (${code}); check its mode`;
    throw new KubeError('KUBECONFIG_UNREADABLE', message, { path, cause });
  }
  const message = `${path} is larger than ${MAX_BYTES} bytes; is it a kubeconfig?`;
  throw new KubeError('KUBECONFIG_MALFORMED', message, { path });
}

/** The files that kubectl reads: the flag, or the KUBECONFIG list, or `~/.kube/config`. */
async function filesOf({ kubeconfig, env = process.env }: LoadOptions): Promise<readonly MergedConfig[]> {
  if (kubeconfig !== undefined) {
    const path = resolve(kubeconfig);
    const text = await read(path);
    if (text === undefined) {
      throw new KubeError('KUBECONFIG_NOT_FOUND', `${path} not found; check --kubeconfig`, { path });
    }
    return [await parseKubeConfig(text, path)];
  }
  const listed = (env.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '');
  const home = env.HOME || homedir();
  const paths = listed.length > 0 ? listed : [join(home, '.kube', 'config')];
  const found: MergedConfig[] = [];
  for (const path of new Set(paths.map((one) => resolve(one)))) {
    const text = await read(path);
    if (text !== undefined) found.push(await parseKubeConfig(text, path));
  }
  return found;
}

/** A pod's own service account. The client follows its token and CA files. */
async function inClusterConfig(options: LoadOptions = {}): Promise<KubeConfig | undefined> {
  const { env = process.env, serviceAccount: directory = SERVICE_ACCOUNT } = options;
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) return undefined;
  const tokenFile = join(directory, 'token');
  if ((await read(tokenFile)) === undefined) return undefined;
  const namespace = (await read(join(directory, 'namespace')))?.trim();
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    namespace: namespace || 'default',
    tls: { ca: { file: join(directory, 'ca.crt') } },
    auth: { tokenFile },
  };
}

const isEmpty = ({ clusters, contexts, currentContext }: MergedConfig): boolean =>
  clusters.size === 0 && contexts.size === 0 && currentContext === '';

/** By kubectl's rules; without any kubeconfig, the pod's service account. */
export async function loadKubeConfig(options: LoadOptions = {}): Promise<KubeConfig> {
  const merged = mergeConfigs(await filesOf(options));
  if (!isEmpty(merged) || options.kubeconfig !== undefined) {
    return resolveConfig(merged, options.context, options.env ?? process.env);
  }
  const inCluster = options.context === undefined ? await inClusterConfig(options) : undefined;
  if (inCluster !== undefined) return inCluster;
  throw new KubeError(
    'KUBECONFIG_NOT_FOUND',
    'no kubeconfig found, and not running in a pod; set KUBECONFIG or pass --kubeconfig',
  );
}
