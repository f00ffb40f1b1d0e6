import { BlockList, isIP, isIPv6 } from 'node:net';
import { OperatorError } from '../error.ts';

/** Never a pod's own: this host, this link, everyone at once (RFC 6890). */
const NEVER = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  '::1/128',
  'fe80::/10',
  'ff00::/8',
] as const;

const CIDR = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/;

const listOf = (networks: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const network of networks) {
    const [, base = '', bits = ''] = CIDR.exec(network) ?? [];
    const family = isIP(base);
    if (family === 0 || Number(bits) > (family === 4 ? 32 : 128))
      throw new OperatorError(
        'OPTION_INVALID',
        `${JSON.stringify(network.slice(0, 80))} is not a network; write address/bits, such as 10.1.0.0/16`,
      );
    list.addSubnet(base, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
};

const holds = (list: BlockList, ip: string): boolean => list.check(ip, isIPv6(ip) ? 'ipv6' : 'ipv4');

/** The one spelling by which addresses are compared; undefined: it is no address. */
export const spelling = (ip: string): string | undefined => {
  if (!isIPv6(ip)) return isIP(ip) === 0 ? undefined : ip;
  const url = `http://[${ip}]/`;
  return URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : undefined;
};

/** Which addresses may be asked what they have loaded. */
export class Addresses {
  readonly #networks: readonly string[];
  readonly #forbidden: readonly string[];
  readonly #named: BlockList;
  readonly #never: BlockList;
  readonly #apiServer: string | undefined;

  /** `networks`: outside the cluster, named by the operator's owner. `never`: for tests, which have loopback alone. */
  constructor(networks: readonly string[] = [], never: readonly string[] = NEVER, apiServer?: string) {
    this.#networks = networks;
    this.#forbidden = never;
    this.#named = listOf(networks);
    this.#never = listOf(never);
    this.#apiServer = apiServer;
  }

  /** The same without the API server at this URL. One on loopback needs no rule of its own: nothing there is asked. */
  sparing(server: string): Addresses {
    const ip = spelling(new URL(server).hostname.replace(/^\[|\]$/g, ''));
    return ip === undefined || holds(listOf(NEVER), ip)
      ? this
      : new Addresses(this.#networks, this.#forbidden, ip);
  }

  /** Why this address is never asked; undefined: nothing speaks against it. */
  why(ip: string): string | undefined {
    const spelt = spelling(ip);
    if (spelt === undefined) return `${JSON.stringify(ip)} is no IP address`;
    // An IPv4 address in disguise, which rules for IPv4 might not see: RFC 4291 §2.5.5.2.
    if (spelt.startsWith('::ffff:')) return `${ip} is an IPv4 address written as IPv6`;
    if (spelt === this.#apiServer) return `${ip} is the API server's own address`;
    return holds(this.#never, ip) ? `${ip} is a loopback, link-local or multicast address` : undefined;
  }

  /** Whether it lies in a network that the operator's owner has named. */
  isNamed(ip: string): boolean {
    return isIP(ip) !== 0 && holds(this.#named, ip);
  }
}
