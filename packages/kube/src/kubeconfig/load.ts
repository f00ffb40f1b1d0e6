import { readFile, stat } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { HandoverError } from '@handover/material';
import type { KubeConfig } from './config.ts';
import { type MergedConfig, mergeConfigs, parseKubeConfig } from './parse.ts';
import { resolveConfig } from './resolve.ts';

export interface LoadOptions {
  /** One file, as with `kubectl --kubeconfig`: it must be there. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Default: this process's. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Where the kubelet mounts the service account. */
  readonly serviceAccount?: string | undefined;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const MAX_BYTES = 8 * 1024 * 1024;

/** undefined when there is no such file. */
async function read(path: string): Promise<string | undefined> {
  try {
    if ((await stat(path)).size > MAX_BYTES) {
      throw new HandoverError(
        'KUBECONFIG_MALFORMED',
        `${path} is over ${MAX_BYTES} bytes; is it a kubeconfig?`,
        {
          path,
        },
      );
    }
    return await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'ENOENT') return undefined;
    if (cause instanceof HandoverError) throw cause;
    throw new HandoverError('KUBECONFIG_UNREADABLE', `${path} cannot be read; check its mode`, {
      path,
      cause,
    });
  }
}

/** The files kubectl would read: the flag, or the KUBECONFIG list, or `~/.kube/config`. */
async function filesOf({ kubeconfig, env = process.env }: LoadOptions): Promise<readonly MergedConfig[]> {
  if (kubeconfig !== undefined) {
    const path = resolve(kubeconfig);
    const text = await read(path);
    if (text === undefined) {
      throw new HandoverError('KUBECONFIG_NOT_FOUND', `there is no ${path}; check --kubeconfig`, { path });
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

/** A pod's own service account; its token and CA are followed. */
export async function inClusterConfig(options: LoadOptions = {}): Promise<KubeConfig | undefined> {
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

/** kubectl's rules; where there is no kubeconfig at all, the pod's service account. */
export async function loadKubeConfig(options: LoadOptions = {}): Promise<KubeConfig> {
  const merged = mergeConfigs(await filesOf(options));
  if (!isEmpty(merged) || options.kubeconfig !== undefined) {
    return resolveConfig(merged, options.context, options.env ?? process.env);
  }
  const inCluster = options.context === undefined ? await inClusterConfig(options) : undefined;
  if (inCluster !== undefined) return inCluster;
  throw new HandoverError(
    'KUBECONFIG_NOT_FOUND',
    'there is no kubeconfig and this is not a pod; set KUBECONFIG or give --kubeconfig',
  );
}
