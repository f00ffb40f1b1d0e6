import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { HandoverError } from '@handover/material';
import type { FollowOptions } from './options.ts';
import { readSmallFile } from './read-files.ts';
import { PathResolver } from './resolve-path.ts';
import { openToken, type Token } from './token.ts';
import { openTrust, type Trust } from './trust.ts';

/** Where the kubelet mounts a service account. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface InClusterOptions extends FollowOptions {
  readonly directory?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** What a pod knows of its API server. Nothing here has called it. */
export interface InCluster {
  readonly server: string;
  readonly namespace: string;
  readonly trust: Trust;
  readonly token: Token;
  /** A path, or a URL of this server; the token goes along. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

function serverFrom(env: Readonly<Record<string, string | undefined>>): string {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) {
    throw new HandoverError(
      'NOT_IN_CLUSTER',
      'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; this is not a pod',
    );
  }
  return `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** The pod's service account: server, trust and token, each following its file. Reads files only. */
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
        // The token is for this server and no other.
        throw new HandoverError('URL_REFUSED', `${url.origin} is not the API server ${server}`);
      }
      const headers = new Headers(init.headers);
      headers.set('authorization', `Bearer ${token.value()}`);
      return trust.fetch(url, { ...init, headers });
    },
  };
}
