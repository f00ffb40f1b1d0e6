import { isIP } from 'node:net';
import type { Endpoint, Locator, Whereabouts } from '@handover/engine';
import { type Kube, type KubeObject, pods as podKind, services } from '@handover/kube';
import { HandoverError, STATUS_PATH } from '@handover/material';
import { OperatorError } from '../error.ts';
import { type Addresses, spelling } from './addresses.ts';
import { podsBehind, portBehind, type ReachedPod, reachedPodOf } from './reached-pod.ts';

const MOST = 128;
const METRICS_PATHS = /^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*\/(metrics|prometheus)$/;

/**
 * Whether the operator asks for this path of a pod: one that is usual for metrics. An address that a pod claims can be another's, and what a
 * GET of any path does there is not known.
 */
export const isMetricsPath = (path: string): boolean => path.length <= MOST && METRICS_PATHS.test(path);

type Consumer = Parameters<ReturnType<Locator>>[0];

interface EndpointOptions {
  readonly kube: Kube;
  readonly addresses: Addresses;
  readonly signal: AbortSignal;
}

interface At {
  /** Undefined: no pod, but a server outside the cluster. */
  readonly uid?: string;
  /** Undefined: it has no address yet. */
  readonly at: { readonly ip: string; readonly port: number } | undefined;
}

const refuse = (message: string): never => {
  throw new OperatorError('ADDRESS_REFUSED', message);
};

/** `web`, `web.prod`, `web.prod.svc` and what a cluster's own domain adds to it. */
const SERVICE = /^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)(\.([-a-z0-9]{1,63})(\.svc(\.[-a-z0-9.]+)?)?)?$/;

/**
 * Where the consumers that an Authority declares are asked: at pods of its own namespace, found through the API, each of them by its
 * own address. No file, no socket and no name is looked at.
 */
export const podsOnly =
  (options: EndpointOptions): Locator =>
  ({ authority }) => {
    const look = new PodEndpoints(options, authority.metadata.namespace);
    return (consumer) => look.at(consumer);
  };

/** One look: what it lists, it lists once. */
class PodEndpoints {
  readonly #options: EndpointOptions;
  readonly #namespace: string;
  #pods: Promise<readonly ReachedPod[]> | undefined;
  readonly #services = new Map<string, Promise<KubeObject>>();

  constructor(options: EndpointOptions, namespace: string) {
    this.#options = options;
    this.#namespace = namespace;
  }

  async at(consumer: Consumer): Promise<Whereabouts> {
    try {
      return { endpoints: await this.#endpoints(consumer) };
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      return { refused: error.message };
    }
  }

  async #endpoints({ status, metrics, probe }: Consumer): Promise<readonly Endpoint[]> {
    const found = new Map<string | undefined, Endpoint>();
    const add = (uid: string | undefined, way: Endpoint): void => {
      found.set(uid, { uid, ...found.get(uid), ...way });
    };
    if (status !== undefined) {
      const { url } = status;
      if (url === undefined)
        return refuse(
          'the operator opens no status.file and no status.socket; serve the document over HTTP and name its Service in status.url',
        );
      for (const { uid, at } of await this.#resolve(...splitUrl('status.url', url)))
        add(uid, at === undefined ? {} : { status: { url, at } });
    }
    if (metrics !== undefined) {
      const { url } = metrics;
      for (const { uid, at } of await this.#resolve(...splitUrl('metrics.url', url)))
        add(uid, at === undefined ? {} : { metrics: { url, at } });
    }
    if (probe !== undefined) {
      const { address } = probe;
      if (address === undefined)
        return refuse(
          'the operator runs no probe.command; give probe.address, or let the program show it itself',
        );
      for (const { uid, at } of await this.#resolve(...splitAddress(address)))
        add(uid, at === undefined ? {} : { probe: { ...probe, address, at } });
    }
    return [...found.values()];
  }

  /** Everything behind a host and a port. */
  async #resolve(host: string, port: number): Promise<readonly At[]> {
    return isIP(host) === 0 ? this.#behindService(host, port) : [await this.#literal(host, port)];
  }

  async #literal(ip: string, port: number): Promise<At> {
    const { addresses } = this.#options;
    const why = addresses.why(ip);
    if (why !== undefined) return refuse(`${why}; name a Service of namespace ${this.#namespace}`);
    const pod = (await this.#listed()).find(({ ips }) => ips.includes(spelling(ip) ?? ip));
    if (pod !== undefined) return { uid: pod.uid, at: { ip: this.#asked(pod, ip), port } };
    if (addresses.isNamed(ip)) return { at: { ip, port } };
    return refuse(
      `${ip} is not a pod of namespace ${this.#namespace}; name a Service of it, or let the operator's --probe-networks hold the address`,
    );
  }

  async #behindService(host: string, port: number): Promise<readonly At[]> {
    const own = this.#namespace;
    const [, name, , , namespace = own] = SERVICE.exec(host) ?? [];
    if (name === undefined || namespace !== own)
      return refuse(`${host} is not a Service of namespace ${own}; name one, such as web.${own}.svc`);
    const service = await this.#service(name);
    return podsBehind(service, await this.#listed()).map((pod) => {
      const [ip] = pod.ips;
      return {
        uid: pod.uid,
        at: ip === undefined ? undefined : { ip: this.#asked(pod, ip), port: portBehind(service, port, pod) },
      };
    });
  }

  /** A pod's status is a claim: an account that may write it can name any address. */
  #asked({ name, onNode }: ReachedPod, ip: string): string {
    const pod = `pod ${this.#namespace}/${name}`;
    if (onNode) return refuse(`${pod} has the address of its node (hostNetwork); give it its own network`);
    const why = this.#options.addresses.why(ip);
    return why === undefined ? ip : refuse(`${pod}: ${why}`);
  }

  #listed(): Promise<readonly ReachedPod[]> {
    const { kube, signal } = this.#options;
    this.#pods ??= kube
      .list(podKind, { namespace: this.#namespace }, { signal })
      .then(({ items }) => items.flatMap((object) => reachedPodOf(object) ?? []));
    return this.#pods;
  }

  #service(name: string): Promise<KubeObject> {
    const { kube, signal } = this.#options;
    const known = this.#services.get(name);
    if (known !== undefined) return known;
    const asked = kube
      .get(services, { namespace: this.#namespace, name }, { signal })
      .then((found) => found ?? refuse(`there is no Service ${this.#namespace}/${name}`));
    this.#services.set(name, asked);
    return asked;
  }
}

/** Which paths of a pod are asked for in a field. */
const PATHS = {
  'status.url': { takes: (path: string) => path === STATUS_PATH, are: STATUS_PATH },
  'metrics.url': { takes: isMetricsPath, are: 'paths that end in /metrics or /prometheus' },
} as const;

const splitUrl = (field: keyof typeof PATHS, url: string): readonly [string, number] => {
  if (!URL.canParse(url)) refuse(`${url} is not a URL; write it like http://web:9901/`);
  const { protocol, hostname, port, pathname, search } = new URL(url);
  const { takes, are } = PATHS[field];
  if ((pathname !== '/' && !takes(pathname)) || search !== '')
    refuse(`${field} has a path; the operator asks for ${are} only`);
  const usual = protocol === 'https:' ? 443 : 80;
  return [hostname.replace(/^\[|\]$|\.$/g, ''), port === '' ? usual : Number(port)];
};

const splitAddress = (address: string): readonly [string, number] => {
  const colon = address.lastIndexOf(':');
  return [address.slice(0, colon).replace(/^\[|\]$/g, ''), Number(address.slice(colon + 1))];
};
