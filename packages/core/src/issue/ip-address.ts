const octetsOfV4 = (text: string): readonly number[] | undefined => {
  const parts = text.split('.');
  // No leading zeros: some readers take them for octal.
  const good =
    parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256);
  return good ? parts.map(Number) : undefined;
};

const octetsOfGroups = (text: string): readonly number[] | undefined => {
  if (text === '') return [];
  const groups = text.split(':');
  const octets: number[] = [];
  for (const [index, group] of groups.entries()) {
    const v4 = index === groups.length - 1 ? octetsOfV4(group) : undefined;
    if (v4 !== undefined) octets.push(...v4);
    else if (/^[0-9a-fA-F]{1,4}$/.test(group)) {
      const value = Number.parseInt(group, 16);
      octets.push(value >> 8, value & 0xff);
    } else return undefined;
  }
  return octets;
};

const octetsOfV6 = (text: string): readonly number[] | undefined => {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head = '', tail] = halves;
  // A dotted quad may only end the whole address.
  if (tail !== undefined && head.includes('.')) return undefined;
  const before = octetsOfGroups(head);
  const behind = tail === undefined ? [] : octetsOfGroups(tail);
  if (before === undefined || behind === undefined) return undefined;
  const missing = 16 - before.length - behind.length;
  // `::` stands for at least one group: RFC 5952 §4.2.2 would have it two, RFC 4291 §2.2 reads one.
  if (tail === undefined ? missing !== 0 : missing < 2) return undefined;
  return [...before, ...new Array<number>(missing).fill(0), ...behind];
};

/** The 4 or 16 octets of an IP address (RFC 4291 §2.2), or undefined. No zone, no prefix length, no octal. */
export const ipOctets = (text: string): Uint8Array | undefined => {
  const octets = text.includes(':') ? octetsOfV6(text) : octetsOfV4(text);
  return octets === undefined ? undefined : Uint8Array.from(octets);
};
