import { ADDRCONFIG } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { DeclaredConsumer, Endpoint, Whereabouts } from '../../evidence/whereabouts.ts';

/** The addresses of a name. Throws when it has none. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

/** Of a family for which this machine has no address there is none. */
export const resolveName: ResolveName = async (name) =>
  (await lookup(name, { all: true, hints: ADDRCONFIG })).map(({ address }) => address);

/** Each of them costs its handshakes at every look. */
const MOST = 16;

const isLocal = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost');

interface Place {
  readonly host: string;
  readonly port: number;
}

const placeOf = (address: string): Place => {
  const colon = address.lastIndexOf(':');
  return {
    host: address.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(address.slice(colon + 1)),
  };
};

const placeIn = (url: string): Place => {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (protocol === 'https:' ? 443 : 80)) };
};

/** The addresses behind a host where there are several; a name that is not found is named by the connection that fails. */
const severalOf = async (place: Place | undefined, resolve: ResolveName): Promise<readonly string[]> => {
  if (place === undefined || isIP(place.host) !== 0 || isLocal(place.host)) return [];
  try {
    const all = [...new Set(await resolve(place.host))].sort();
    return all.length > 1 ? all : [];
  } catch {
    return [];
  }
};

/** One way in which a consumer is asked, and the addresses behind its name where there are several. */
interface Way<Asked> {
  readonly asked: Asked | undefined;
  readonly at: Place | undefined;
  readonly ips: readonly string[];
}

/** A probe that connects; a command connects by itself. */
export const connecting = (probe: DeclaredConsumer['probe']): Endpoint['probe'] =>
  probe?.address === undefined ? undefined : { ...probe, address: probe.address };

/** A server of each address that a name has: one of them may be behind, whichever answers first. */
export const everyAddress = async (
  { name, status, metrics, probe }: Pick<DeclaredConsumer, 'name' | 'status' | 'metrics' | 'probe'>,
  resolve: ResolveName,
): Promise<Whereabouts> => {
  const url = status?.url;
  const way = async <Asked>(
    asked: Asked | undefined,
    place: (asked: Asked) => Place,
  ): Promise<Way<Asked>> => {
    const at = asked === undefined ? undefined : place(asked);
    return { asked, at, ips: await severalOf(at, resolve) };
  };
  const [stated, counted, probed] = [
    await way(url === undefined ? undefined : { url }, ({ url }) => placeIn(url)),
    await way(metrics, ({ url }) => placeIn(url)),
    await way(connecting(probe), ({ address }) => placeOf(address)),
  ];
  const all = [...new Set([...stated.ips, ...counted.ips, ...probed.ips])];
  if (all.length > MOST)
    return {
      refused: `its names have ${all.length} addresses; at most ${MOST} are asked: declare a consumer for each server`,
    };
  if (all.length === 0)
    return { endpoints: [{ status: stated.asked, metrics: counted.asked, probe: probed.asked }] };
  return {
    endpoints: all.map((ip): Endpoint => {
      // A way with one address speaks beside each address of the others.
      const here = <Asked>({ asked, at, ips }: Way<Asked>) => {
        if (asked === undefined || ips.length === 0) return asked;
        return ips.includes(ip) && at !== undefined ? { ...asked, at: { ip, port: at.port } } : undefined;
      };
      return {
        uid: `${name} at ${ip}`,
        status: here(stated),
        metrics: here(counted),
        probe: here(probed),
      };
    }),
  };
};
