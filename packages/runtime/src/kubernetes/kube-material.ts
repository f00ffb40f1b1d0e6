import { type ClientSource, type Pems, SOURCE } from '../clients/client-source.ts';
import { fixedSource } from '../clients/combine.ts';
import { type Identity, openIdentity } from '../identity.ts';
import { type FollowOptions, resolveFollowOptions } from '../options.ts';
import { FrozenTrust } from '../status/frozen-trust.ts';
import type { StatusSource } from '../status/status.ts';
import { openTrust, readBundle, type Trust } from '../trust.ts';
import type { Cluster, KubeConfigLike, User } from './kube-config.ts';

const decoded = (base64: string | undefined): string | undefined =>
  base64 === undefined || base64 === '' ? undefined : Buffer.from(base64, 'base64').toString('utf8');

/** `shown`: what it is in a status document. */
export interface Opened {
  readonly source: ClientSource;
  readonly shown?: StatusSource;
}

const opened = (shown: Trust | Identity): Opened => ({ source: shown[SOURCE], shown });

/** A file takes precedence over inline data, as in client-node. */
export async function trustOf(cluster: Cluster, options: FollowOptions): Promise<Opened> {
  const follow = resolveFollowOptions(options);
  if (cluster.skipTLSVerify) return { source: fixedSource({}, follow.clock, false) };
  if (cluster.caFile) return opened(await openTrust(cluster.caFile, options));
  const data = decoded(cluster.caData);
  if (data === undefined) return { source: fixedSource({}, follow.clock) };
  const name = `caData of cluster ${cluster.name}`;
  const ca = readBundle(Buffer.from(data), name).pem;
  return { source: fixedSource({ ca }, follow.clock), shown: new FrozenTrust(name, [ca], follow.clock) };
}

export async function identityOf(user: User, options: FollowOptions): Promise<Opened | undefined> {
  if (user.certFile && user.keyFile) {
    return opened(await openIdentity({ cert: user.certFile, key: user.keyFile }, options));
  }
  const pems: Pems = { cert: decoded(user.certData), key: decoded(user.keyData) };
  return pems.cert === undefined
    ? undefined
    : { source: fixedSource(pems, resolveFollowOptions(options).clock) };
}

/** client-node itself handles proxies, plain HTTP, and a certificate from a file with an inline key. */
export const isOurs = (cluster: Cluster, user: User): boolean =>
  cluster.server.startsWith('https:') &&
  !cluster.proxyUrl &&
  Boolean(user.certFile) === Boolean(user.keyFile);

/** The same KubeConfig without the entries that make client-node read files. */
export function bareConfig(kc: KubeConfigLike, cluster: Cluster, user: User): KubeConfigLike {
  const { caFile: _caFile, caData: _caData, ...restOfCluster } = cluster;
  const { certFile: _c, certData: _cd, keyFile: _k, keyData: _kd, ...restOfUser } = user;
  const bareUser = user.authProvider?.config?.tokenFile
    ? { ...restOfUser, authProvider: undefined }
    : restOfUser;
  return Object.create(kc, {
    getCurrentCluster: { value: () => restOfCluster },
    getCurrentUser: { value: () => bareUser },
  }) as KubeConfigLike;
}
