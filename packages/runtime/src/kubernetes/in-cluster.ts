import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { RuntimeError } from '../error.ts';
import { readSmallFile } from '../files/read-files.ts';
import { PathResolver } from '../files/resolve-path.ts';
import type { FollowOptions } from '../options.ts';
import { openToken, type Token } from '../token.ts';
import { openTrust, type Trust } from '../trust.ts';

/** The kubelet mounts a service account here. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * How {@link inCluster} finds the service account.
 *
 * @example
 * ```ts
 * import { type InClusterOptions, inCluster } from '@handover/runtime/kubernetes';
 *
 * const options: InClusterOptions = { directory: '/etc/mesh', waitFor: '30s' };
 * const { namespace } = await inCluster(options);
 * console.log(namespace); // shop
 * ```
 */
export interface InClusterOptions extends FollowOptions {
  /** Directory with `ca.crt`, `token` and `namespace`. Default: the kubelet's mount of the service account. */
  readonly directory?: string | undefined;
  /** Default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/**
 * The API server of a pod.
 *
 * @example
 * ```ts
 * import { type InCluster, inCluster } from '@handover/runtime/kubernetes';
 *
 * const pods = async ({ fetch, namespace }: InCluster) => fetch(`/api/v1/namespaces/${namespace}/pods`);
 * const response = await pods(await inCluster());
 * console.log(response.ok); // true
 * ```
 */
export interface InCluster {
  /** URL of the API server. */
  readonly server: string;
  /** Namespace of the pod. */
  readonly namespace: string;
  /** The cluster's CA bundle. */
  readonly trust: Trust;
  /** The service account's token. */
  readonly token: Token;
  /** Requests a path, or a URL of this API server, with the token. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

function serverFrom(env: Readonly<Record<string, string | undefined>>): string {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) {
    throw new RuntimeError(
      'NOT_IN_CLUSTER',
      'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: not running in a pod',
    );
  }
  return `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/**
 * Opens the pod's service account: CA bundle and token follow their files. Reads files only; does not call the API server.
 *
 * @example
 * ```ts
 * import { inCluster } from '@handover/runtime/kubernetes';
 *
 * const cluster = await inCluster();
 * const response = await cluster.fetch(`/api/v1/namespaces/${cluster.namespace}/pods`);
 * console.log(response.status); // 200
 * ```
 */
export async function inCluster(options: InClusterOptions = {}): Promise<InCluster> {
  const { directory = SERVICE_ACCOUNT, env = process.env, ...follow } = options;
  const server = serverFrom(env);
  const namespaceFile = join(directory, 'namespace');
  const trust = await openTrust(join(directory, 'ca.crt'), follow);
  const token = await openToken(join(directory, 'token'), follow);
  const namespace = await new PathResolver()
    .resolve(namespaceFile)
    .then((real) => readSmallFile(namespaceFile, real, 1024))
    .then((bytes) => bytes.toString('utf8').trim())
    .catch(() => 'default');
  return {
    server,
    namespace,
    trust,
    token,
    fetch: (path, init = {}) => {
      const url = new URL(path, server);
      if (url.origin !== new URL(server).origin) {
        // The token must not reach another server.
        throw new RuntimeError('URL_REFUSED', `${url.origin} is not the API server ${server}`);
      }
      const headers = new Headers(init.headers);
      headers.set('authorization', `Bearer ${token.value()}`);
      return trust.fetch(url, { ...init, headers });
    },
  };
}
