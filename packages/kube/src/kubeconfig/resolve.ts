import type { HandoverError } from '@handover/material';
import { KubeError, type KubeErrorCode } from '../error.ts';
import { Hidden } from '../hidden.ts';
import type { AuthConfig, ExecConfig, Impersonation, KubeConfig, PemSource, TlsConfig } from './config.ts';
import type { NamedCluster, NamedUser } from './fields.ts';
import type { MergedConfig } from './parse.ts';
import { proxyFor } from './proxy.ts';

type Env = Readonly<Record<string, string | undefined>>;

const EXEC_VERSIONS = new Set(['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']);

const bad = (code: KubeErrorCode, message: string, path: string): HandoverError =>
  new KubeError(code, message, { path });

/** Data wins over a file, as in kubectl. */
function pemOf(data: string | undefined, file: string | undefined): PemSource | undefined {
  if (data) return { pem: new Hidden(Buffer.from(data, 'base64').toString('utf8')) };
  return file ? { file } : undefined;
}

function tlsOf(cluster: NamedCluster, user: NamedUser, name: string): TlsConfig {
  const insecure = cluster['insecure-skip-tls-verify'] === true;
  const ca = pemOf(cluster['certificate-authority-data'], cluster['certificate-authority']);
  if (insecure && ca !== undefined) {
    throw bad(
      'KUBECONFIG_CONTRADICTION',
      `cluster "${name}" has both a certificate authority and insecure-skip-tls-verify; remove one`,
      name,
    );
  }
  const cert = pemOf(user['client-certificate-data'], user['client-certificate']);
  const key = pemOf(user['client-key-data'], user['client-key']);
  if ((cert === undefined) !== (key === undefined)) {
    throw bad(
      'KUBECONFIG_INCOMPLETE',
      `the user of cluster "${name}" has a client certificate without its key, or a key without its certificate`,
      name,
    );
  }
  const serverName = cluster['tls-server-name'];
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    ...(insecure ? { verify: false } : {}),
    ...(serverName ? { serverName } : {}),
  };
}

/** What a plugin learns about the cluster when it asks (`provideClusterInfo`). */
function clusterInfo(cluster: NamedCluster): Readonly<Record<string, unknown>> {
  const config = cluster.extensions?.find(
    ({ name }) => name === 'client.authentication.k8s.io/exec',
  )?.extension;
  return {
    server: cluster.server,
    'tls-server-name': cluster['tls-server-name'],
    'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'],
    'certificate-authority-data': cluster['certificate-authority-data'],
    'proxy-url': cluster['proxy-url'],
    config,
  };
}

function execOf(
  exec: NonNullable<NamedUser['exec']>,
  cluster: NamedCluster,
  user: string,
  env: Env,
): ExecConfig {
  const { apiVersion = '', command = '' } = exec;
  if (command === '')
    throw bad(
      'KUBECONFIG_INCOMPLETE',
      `user "${user}" has an exec plugin without a command; set exec.command`,
      user,
    );
  if (!EXEC_VERSIONS.has(apiVersion)) {
    throw bad(
      'KUBECONFIG_UNSUPPORTED',
      `the exec plugin of user "${user}" has apiVersion "${apiVersion}"; supported: v1, v1beta1`,
      user,
    );
  }
  if (exec.interactiveMode === 'Always') {
    throw bad(
      'KUBECONFIG_UNSUPPORTED',
      `the exec plugin of user "${user}" needs a terminal, which this program does not have; use another credential`,
      user,
    );
  }
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined) own[name] = value;
  for (const { name, value } of exec.env ?? []) if (name) own[name] = value ?? '';
  return {
    apiVersion,
    command,
    args: exec.args ?? [],
    env: () => own,
    ...(exec.installHint ? { installHint: exec.installHint } : {}),
    ...(exec.provideClusterInfo === true ? { cluster: clusterInfo(cluster) } : {}),
  };
}

function authOf(user: NamedUser, cluster: NamedCluster, name: string, env: Env): AuthConfig {
  if (user['auth-provider'] !== undefined) {
    throw bad(
      'KUBECONFIG_UNSUPPORTED',
      `user "${name}" has an auth-provider, which kubectl dropped in 1.26; use an exec plugin`,
      name,
    );
  }
  if (user.exec !== undefined) {
    if (user.token || user.tokenFile || user.username) {
      throw bad(
        'KUBECONFIG_CONTRADICTION',
        `user "${name}" has an exec plugin and another credential; keep one`,
        name,
      );
    }
    return { exec: execOf(user.exec, cluster, name, env) };
  }
  const { token, tokenFile, username, password } = user;
  if ((token || tokenFile) && username) {
    throw bad('KUBECONFIG_CONTRADICTION', `user "${name}" has a token and a password; keep one`, name);
  }
  return {
    ...(token ? { token: new Hidden(token) } : {}),
    ...(tokenFile ? { tokenFile } : {}),
    ...(username ? { basic: { username, password: new Hidden(password ?? '') } } : {}),
  };
}

function impersonationOf(user: NamedUser, name: string): Impersonation | undefined {
  const { as } = user;
  const more = user['as-uid'] || user['as-groups'] || user['as-user-extra'];
  if (!as) {
    if (more)
      throw bad(
        'KUBECONFIG_INCOMPLETE',
        `user "${name}" impersonates a group or uid without a user; set "as"`,
        name,
      );
    return undefined;
  }
  return {
    user: as,
    ...(user['as-uid'] ? { uid: user['as-uid'] } : {}),
    ...(user['as-groups'] ? { groups: user['as-groups'] } : {}),
    ...(user['as-user-extra'] ? { extra: user['as-user-extra'] } : {}),
  };
}

function serverOf(cluster: NamedCluster, name: string): URL {
  const text = cluster.server ?? '';
  if (text === '') throw bad('KUBECONFIG_INCOMPLETE', `cluster "${name}" has no server; set its URL`, name);
  // kubectl takes "host:port" too, as plain HTTP.
  const given = /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`;
  if (!/^https?:/i.test(given) || !URL.canParse(given)) {
    throw bad('KUBECONFIG_MALFORMED', `the server of cluster "${name}" is not an http or https URL`, name);
  }
  return new URL(given);
}

function named<Value>(map: ReadonlyMap<string, Value>, what: string, name: string, context: string): Value {
  const found = map.get(name);
  if (found !== undefined) return found;
  const there = [...map.keys()].slice(0, 10).join(', ') || 'none';
  throw bad(
    what === 'context' ? 'KUBECONFIG_NO_CONTEXT' : 'KUBECONFIG_INCOMPLETE',
    what === 'context'
      ? `context "${name}" not found; known contexts: ${there}`
      : `context "${context}" names ${what} "${name}", which the kubeconfig does not define`,
    name,
  );
}

/** The configuration of one context. */
export function resolveConfig(merged: MergedConfig, wanted: string | undefined, env: Env): KubeConfig {
  const contextName = wanted ?? merged.currentContext;
  if (contextName === '') {
    throw new KubeError(
      'KUBECONFIG_NO_CONTEXT',
      'no current-context is set; pass --context, or run `kubectl config use-context`',
    );
  }
  const context = named(merged.contexts, 'context', contextName, contextName);
  const clusterName = context.cluster ?? '';
  const userName = context.user ?? '';
  const cluster = named(merged.clusters, 'cluster', clusterName, contextName);
  const user = userName === '' ? {} : named(merged.users, 'user', userName, contextName);
  const server = serverOf(cluster, clusterName);
  const proxyUrl = proxyFor(server, cluster['proxy-url'], env, clusterName);
  const impersonate = impersonationOf(user, userName);
  return {
    server: server.href.replace(/\/+$/, ''),
    namespace: context.namespace || 'default',
    context: contextName,
    tls: tlsOf(cluster, user, clusterName),
    auth: authOf(user, cluster, userName, env),
    ...(proxyUrl === undefined ? {} : { proxyUrl: new Hidden(proxyUrl) }),
    ...(impersonate === undefined ? {} : { impersonate }),
  };
}
