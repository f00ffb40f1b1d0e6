import type { Agent as HttpsAgent } from 'node:https';
import type { Dispatcher } from 'undici';
import { type ClientSource, type Pems, SOURCE } from '../clients/client-source.ts';
import { combine, fixedSource } from '../clients/combine.ts';
import { hotDispatcher, type Undici } from '../clients/dispatcher.ts';
import { HotAgent } from '../clients/https-agent.ts';
import { RuntimeError } from '../error.ts';
import { type Identity, openIdentity } from '../identity.ts';
import { type FollowOptions, resolveFollowOptions } from '../options.ts';
import { FrozenTrust } from '../status/frozen-trust.ts';
import type { StatusSource } from '../status/status.ts';
import { openToken, type Token } from '../token.ts';
import { openTrust, readBundle, type Trust } from '../trust.ts';

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
function bareConfig(kc: KubeConfigLike, cluster: Cluster, user: User): KubeConfigLike {
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

/**
 * How {@link hotKubeConfig} follows the files of a kubeconfig.
 *
 * @example
 * ```ts
 * import { KubeConfig } from '@kubernetes/client-node';
 * import { type HotKubeConfigOptions, hotKubeConfig } from '@handover/runtime/kubernetes';
 *
 * const options: HotKubeConfigOptions = { waitFor: '30s' };
 * const kc = new KubeConfig();
 * kc.loadFromFile('/etc/mesh/kubeconfig');
 * await hotKubeConfig(kc, options);
 * ```
 */
export type HotKubeConfigOptions = FollowOptions;

export interface Cluster {
  readonly name: string;
  readonly server: string;
  readonly caFile?: string;
  readonly caData?: string;
  readonly skipTLSVerify?: boolean;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
}

export interface User {
  readonly name: string;
  readonly certFile?: string;
  readonly certData?: string;
  readonly keyFile?: string;
  readonly keyData?: string;
  readonly authProvider?: { readonly config?: { readonly tokenFile?: string } };
}

/**
 * The part of a KubeConfig that {@link hotKubeConfig} uses; the same in `@kubernetes/client-node` 1.x and 2.x.
 *
 * @example
 * ```ts
 * import { KubeConfig } from '@kubernetes/client-node';
 * import type { KubeConfigLike } from '@handover/runtime/kubernetes';
 *
 * const clusterOf = (config: KubeConfigLike) => config.getCurrentCluster()?.name;
 * const kc = new KubeConfig();
 * kc.loadFromFile('/etc/mesh/kubeconfig');
 * console.log(clusterOf(kc)); // x
 * ```
 */
export interface KubeConfigLike {
  /** Cluster of the current context. */
  getCurrentCluster(): Cluster | null;
  /** User of the current context. */
  getCurrentUser(): User | null;
  /** Replaced by {@link hotKubeConfig}. */
  applyToHTTPSOptions(options: object): Promise<void>;
  /** Replaced by {@link hotKubeConfig}. */
  applySecurityAuthentication(context: never): Promise<void>;
}

/** Options that client-node sets for `https.request` and `ws`. */
interface RequestOptions {
  agent?: HttpsAgent;
  auth?: string;
  headers?: Record<string, unknown>;
  ca?: unknown;
  cert?: Buffer | string;
  key?: Buffer | string;
}

/** client-node 1.x takes an agent, 2.x a dispatcher. */
interface RequestContext {
  setHeaderParam(name: string, value: string): void;
  setAgent?(agent: HttpsAgent): void;
  setDispatcher?(dispatcher: Dispatcher): void;
}

type UndiciClasses = Pick<Undici, 'Agent' | 'Dispatcher'>;

/** Followed files of one cluster and user, and the connection pools that use them. */
interface Access {
  readonly source: ClientSource;
  readonly token: Token | undefined;
  /** The same KubeConfig without the entries that make client-node read files. */
  readonly bare: KubeConfigLike;
  readonly undici: UndiciClasses | undefined;
  readonly pools: Map<string, Pools>;
}

interface Pools {
  readonly agent: HttpsAgent;
  readonly dispatcher: Dispatcher | undefined;
}

/** The base class of an undici agent, from the undici version that client-node uses. */
function dispatcherClassOf(agent: Undici['Agent']): Undici['Dispatcher'] {
  let found = agent as unknown as Undici['Dispatcher'];
  for (;;) {
    const parent = Object.getPrototypeOf(found) as Undici['Dispatcher'] & { readonly name: string };
    if (typeof parent !== 'function' || parent.name === 'EventEmitter' || parent.name === '') return found;
    found = parent;
  }
}

/** Lets client-node make one connection pool, to learn whether it uses undici, and which version. */
async function undiciOf(original: KubeConfigLike, bare: KubeConfigLike): Promise<UndiciClasses | undefined> {
  let made: Dispatcher | undefined;
  // client-node 2 makes a dispatcher only for TLS options that differ from the default, such as a server name.
  const cluster = { ...bare.getCurrentCluster(), tlsServerName: 'kubernetes' };
  const asking = Object.create(bare, { getCurrentCluster: { value: () => cluster } }) as KubeConfigLike;
  const context: RequestContext = {
    setHeaderParam: () => undefined,
    setAgent: () => undefined,
    setDispatcher: (dispatcher) => {
      made = dispatcher;
    },
  };
  await original.applySecurityAuthentication.call(asking, context as never);
  if (made === undefined) return undefined;
  const Agent = made.constructor as Undici['Agent'];
  void made.destroy().catch(() => undefined);
  return { Agent, Dispatcher: dispatcherClassOf(Agent) };
}

function poolsOf(access: Access, cluster: Cluster, { cert, key }: RequestOptions): Pools {
  // An exec plugin may supply a certificate, and replace it over time.
  const own = cert === undefined ? '' : String(cert);
  const known = access.pools.get(own);
  if (known !== undefined) return known;
  const source =
    cert === undefined
      ? access.source
      : combine(
          access.source,
          fixedSource({ cert: own, key: key === undefined ? undefined : String(key) }, access.source.clock),
        );
  const servername = cluster.tlsServerName;
  const made = {
    agent: new HotAgent(source, servername === undefined ? {} : { servername }),
    dispatcher:
      access.undici === undefined
        ? undefined
        : hotDispatcher(access.undici, source, servername === undefined ? {} : { connect: { servername } }),
  };
  if (access.pools.size > 8) access.pools.clear();
  access.pools.set(own, made);
  return made;
}

/**
 * Gives a KubeConfig of `@kubernetes/client-node` (1.x or 2.x) pooled connections, and makes its CA, client certificate and
 * token follow their files. Returns the same object, for `makeApiClient`, `Watch`, `Exec` and so on.
 *
 * @example
 * ```ts
 * import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
 * import { hotKubeConfig } from '@handover/runtime/kubernetes';
 *
 * const kc = new KubeConfig();
 * kc.loadFromFile('/etc/mesh/kubeconfig');
 * await hotKubeConfig(kc);
 * const { items } = await kc.makeApiClient(CoreV1Api).listNamespacedPod({ namespace: 'shop' });
 * console.log(items.length); // 0
 * ```
 */
export async function hotKubeConfig<Config extends KubeConfigLike>(
  kc: Config,
  options: HotKubeConfigOptions = {},
): Promise<Config> {
  const original: KubeConfigLike = {
    getCurrentCluster: kc.getCurrentCluster,
    getCurrentUser: kc.getCurrentUser,
    applyToHTTPSOptions: kc.applyToHTTPSOptions,
    applySecurityAuthentication: kc.applySecurityAuthentication,
  };

  const shown: StatusSource[] = [];

  const open = async (cluster: Cluster, user: User): Promise<Access> => {
    const tokenFile = user.authProvider?.config?.tokenFile;
    const bare = bareConfig(kc, cluster, user);
    const trust = await trustOf(cluster, options);
    const identity = await identityOf(user, options);
    const token = tokenFile === undefined ? undefined : await openToken(tokenFile, options);
    const access = {
      source: identity === undefined ? trust.source : combine(trust.source, identity.source),
      token,
      bare,
      undici: await undiciOf(original, bare),
      pools: new Map(),
    };
    shown.push(...[trust.shown, identity?.shown, token].filter((source) => source !== undefined));
    return access;
  };

  const accesses = new WeakMap<Cluster, WeakMap<User, Promise<Access>>>();
  const accessTo = (cluster: Cluster, user: User): Promise<Access> => {
    const users = accesses.get(cluster) ?? new WeakMap<User, Promise<Access>>();
    accesses.set(cluster, users);
    const known = users.get(user);
    if (known !== undefined) return known;
    const opening = open(cluster, user);
    users.set(user, opening);
    opening.catch(() => users.delete(user)); // the next request may find better files
    return opening;
  };

  /** Headers and pools for the current context; undefined when client-node handles it itself. */
  const prepare = async (given: RequestOptions) => {
    const cluster = kc.getCurrentCluster();
    const user = kc.getCurrentUser();
    if (cluster === null || user === null || !isOurs(cluster, user)) return undefined;
    const access = await accessTo(cluster, user);
    await original.applyToHTTPSOptions.call(access.bare, given);
    if (access.token !== undefined) {
      given.headers = { ...given.headers, Authorization: `Bearer ${access.token.value()}` };
    }
    return poolsOf(access, cluster, given);
  };

  const hot: Pick<KubeConfigLike, 'applyToHTTPSOptions' | 'applySecurityAuthentication'> = {
    applyToHTTPSOptions: async (given: RequestOptions) => {
      const pools = await prepare(given);
      if (pools === undefined) return original.applyToHTTPSOptions.call(kc, given);
      given.agent = pools.agent;
    },
    applySecurityAuthentication: async (context: RequestContext) => {
      const given: RequestOptions = {};
      const pools = await prepare(given);
      if (pools === undefined) return original.applySecurityAuthentication.call(kc, context as never);
      for (const [name, value] of Object.entries(given.headers ?? {}))
        context.setHeaderParam(name, `${value}`);
      if (given.auth !== undefined) {
        context.setHeaderParam('Authorization', `Basic ${Buffer.from(given.auth).toString('base64')}`);
      }
      if (pools.dispatcher !== undefined) context.setDispatcher?.(pools.dispatcher);
      else context.setAgent?.(pools.agent);
    },
  };
  Object.assign(kc, hot);
  SHOWN.set(kc, shown);
  const cluster = kc.getCurrentCluster();
  const user = kc.getCurrentUser();
  if (cluster !== null && user !== null && isOurs(cluster, user)) await accessTo(cluster, user);
  return kc;
}

/** The sources of each KubeConfig, also of contexts that are used later. */
const SHOWN = new WeakMap<KubeConfigLike, readonly StatusSource[]>();

/**
 * What {@link hotKubeConfig} has opened for a KubeConfig, for {@link serveStatus}: CA, client certificate and token. The list grows when another
 * context is used for the first time. A CA that stands in the kubeconfig itself is in it too: no rotation reaches it.
 *
 * @example
 * ```ts
 * import { KubeConfig } from '@kubernetes/client-node';
 * import { serveStatus } from '@handover/runtime';
 * import { hotKubeConfig, kubeConfigSources } from '@handover/runtime/kubernetes';
 *
 * const kc = new KubeConfig();
 * kc.loadFromFile('/etc/mesh/kubeconfig');
 * await hotKubeConfig(kc);
 * await serveStatus({ port: 8081, sources: kubeConfigSources(kc) });
 * ```
 */
export function kubeConfigSources(kc: KubeConfigLike): readonly StatusSource[] {
  const shown = SHOWN.get(kc);
  if (shown !== undefined) return shown;
  throw new RuntimeError('OPTION_INVALID', 'kubeConfigSources: give hotKubeConfig this KubeConfig first');
}
