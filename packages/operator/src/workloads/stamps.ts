import { formatStamp, parseStamp, type Stamp } from '@handover/core';
import type { AuthorityId } from '@handover/engine';

/** The stamps of all authorities that a workload reads from, in one annotation: `ns/name=2.0.2-1a2b3c4d ns/other=1.0`. */
const entriesOf = (text: string | undefined): ReadonlyMap<string, string> =>
  new Map(
    (text ?? '').split(' ').flatMap((entry) => {
      const at = entry.indexOf('=');
      return at <= 0 ? [] : [[entry.slice(0, at), entry.slice(at + 1)] as const];
    }),
  );

export const stampIn = (text: string | undefined, authority: AuthorityId): Stamp | undefined => {
  const found = entriesOf(text).get(authority);
  return found === undefined ? undefined : parseStamp(found);
};

/** The annotation with one authority's stamp replaced. */
export const withStamp = (text: string | undefined, authority: AuthorityId, stamp: Stamp): string =>
  [...new Map(entriesOf(text)).set(authority, formatStamp(stamp))]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, value]) => `${id}=${value}`)
    .join(' ');
