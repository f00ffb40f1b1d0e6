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

/** A server of each address that a name has: one of them may be behind, whichever answers first. */
export const everyAddress = async (
  { name, status, probe }: Pick<DeclaredConsumer, 'name' | 'status' | 'probe'>,
  resolve: ResolveName,
): Promise<Whereabouts> => {
  const url = status?.url;
  const [stated, probed] = [
    url === undefined ? undefined : placeIn(url),
    probe === undefined ? undefined : placeOf(probe.address),
  ];
  const [forStatus, forProbe] = [await severalOf(stated, resolve), await severalOf(probed, resolve)];
  const all = [...new Set([...forStatus, ...forProbe])];
  if (all.length > MOST)
    return {
      refused: `its names have ${all.length} addresses; at most ${MOST} are asked: declare a consumer for each server`,
    };
  if (all.length === 0) return { endpoints: [{ status: url === undefined ? undefined : { url }, probe }] };
  return {
    endpoints: all.map((ip): Endpoint => {
      const atStatus =
        stated !== undefined && forStatus.includes(ip) ? { at: { ip, port: stated.port } } : {};
      const atProbe = probed !== undefined && forProbe.includes(ip) ? { at: { ip, port: probed.port } } : {};
      // A way with one address speaks beside each address of the other.
      const statusHere = forStatus.length === 0 || forStatus.includes(ip);
      const probeHere = forProbe.length === 0 || forProbe.includes(ip);
      return {
        uid: `${name} at ${ip}`,
        status: url === undefined || !statusHere ? undefined : { url, ...atStatus },
        probe: probe === undefined || !probeHere ? undefined : { ...probe, ...atProbe },
      };
    }),
  };
};
