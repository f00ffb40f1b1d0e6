import { ipOctets } from './ip-address.ts';

/** Addresses that agree with `octets` wherever `mask` has a one. */
export interface IpRange {
  readonly octets: Uint8Array;
  readonly mask: Uint8Array;
}

const MAPPED = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff);

const isMapped = (octets: Uint8Array): boolean =>
  octets.length === 16 && MAPPED.every((octet, index) => octets[index] === octet);

const maskOf = (bits: number, length: number): Uint8Array =>
  Uint8Array.from(
    { length },
    (_, index) => 0xff & (0xff << (8 - Math.min(8, Math.max(0, bits - 8 * index)))),
  );

/** `10.0.0.0/8`, or one address. */
export const ipRange = (text: string): IpRange | undefined => {
  const [address = '', prefix, ...more] = text.split('/');
  const octets = ipOctets(address);
  if (octets === undefined || more.length > 0) return undefined;
  const most = 8 * octets.length;
  if (prefix !== undefined && !/^(0|[1-9][0-9]{0,2})$/.test(prefix)) return undefined;
  const bits = prefix === undefined ? most : Number(prefix);
  if (bits > most) return undefined;
  const mask = maskOf(bits, octets.length);
  return { octets: octets.map((octet, index) => octet & (mask[index] ?? 0)), mask };
};

export const ipRangeProblem = (text: string): string | undefined => {
  const octets = ipOctets(text.split('/')[0] ?? '');
  if (octets !== undefined && isMapped(octets))
    return 'is an IPv4 address in IPv6 form; write the IPv4 address';
  return ipRange(text) === undefined
    ? 'is not an IP address or range; write it like 10.0.0.1, 10.0.0.0/8 or 2001:db8::/32'
    : undefined;
};

/** `::ffff:10.0.0.1` is the host 10.0.0.1, so a range of IPv4 addresses decides about it, and `::/0` does not. */
export const inIpRange = (range: string, address: string): boolean => {
  const found = ipRange(range);
  const given = ipOctets(address);
  if (found === undefined || given === undefined) return false;
  const octets = isMapped(given) ? given.subarray(MAPPED.length) : given;
  const { octets: base, mask } = found;
  return (
    octets.length === base.length &&
    octets.every((octet, index) => (octet & (mask[index] ?? 0)) === base[index])
  );
};
