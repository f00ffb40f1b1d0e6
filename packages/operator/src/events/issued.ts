import type { IssuedEntry } from '@handover/engine';

const MOST_NAMES = 5;

const WHAT = {
  ca: ({ generation }) => `the CA certificate of CA generation ${generation}`,
  cross: ({ certifies, generation }) =>
    `the cross-certificate of CA generation ${certifies}, signed by CA generation ${generation}`,
  leaf: ({ generation }) => `a certificate signed by CA generation ${generation}`,
  canary: ({ generation }) => `a canary signed by CA generation ${generation}`,
} as const satisfies Record<IssuedEntry['kind'], (entry: IssuedEntry) => string>;

/** A certificate in one sentence; the log has the rest. */
export const issuedNote = (entry: IssuedEntry): string => {
  const names = [...entry.dnsNames, ...entry.ipAddresses, ...entry.uris];
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  const listed = names.length === 0 ? '' : ` for ${names.slice(0, MOST_NAMES).join(', ')}${more}`;
  const { via, manager } = entry.askedBy ?? {};
  const requester = manager === undefined ? '' : `, requested by ${manager} (${via})`;
  return `Issued ${WHAT[entry.kind](entry)}${listed}: serial ${entry.serial}, valid until ${entry.notAfter}${requester}, because ${entry.why}`;
};
