import { basename } from 'node:path';
import { type Instant, isExpired } from '@handover/material';
import type { InspectedEntry, InspectedFile } from './file.ts';
import type { Relations } from './relations.ts';
import { ago } from './values.ts';

export interface Warning {
  readonly code:
    | 'PRIVATE_KEY_IN_BUNDLE'
    | 'SAME_NAME_WITHOUT_AKI'
    | 'LEAF_AS_ANCHOR'
    | 'EXPIRED'
    | 'NOT_YET_VALID'
    | 'DUPLICATE'
    | 'OTHER_BLOCK'
    | 'JUNK';
  /** The certificate concerned; undefined: the file. */
  readonly certificate: number | undefined;
  /** In a PEM file. */
  readonly line: number | undefined;
  readonly message: string;
}

type Rule = (file: InspectedFile, relations: Relations, now: Instant) => readonly Warning[];

const about = (code: Warning['code'], entry: InspectedEntry, message: string): Warning => ({
  code,
  certificate: entry.index,
  line: entry.line,
  message,
});
const aboutFile = (code: Warning['code'], line: number | undefined, message: string): Warning => ({
  code,
  certificate: undefined,
  line,
  message,
});

/** A key in a keystore is where it belongs. */
const privateKeys: Rule = ({ format, others }) =>
  others
    .filter(({ label }) => format === 'pem' && label.endsWith('PRIVATE KEY'))
    .map(({ label, line }) =>
      aboutFile(
        'PRIVATE_KEY_IN_BUNDLE',
        line,
        `${label} beside certificates; remove it, and replace the key if others could read the file`,
      ),
    );

const otherBlocks: Rule = ({ others }) =>
  others
    .filter(({ label }) => !label.endsWith('PRIVATE KEY'))
    .map(({ label, line }) =>
      aboutFile('OTHER_BLOCK', line, `${label} is not a certificate and was not checked`),
    );

const dates: Rule = ({ entries }, _relations, now) =>
  entries.flatMap((entry) => {
    const { notBefore, notAfter } = entry.certificate;
    if (isExpired(entry.certificate, now))
      return [about('EXPIRED', entry, `expired ${ago(now - notAfter)} ago`)];
    if (notBefore > now) return [about('NOT_YET_VALID', entry, `valid only in ${ago(notBefore - now)}`)];
    return [];
  });

/** CAs of one name and different keys: a verifier that finds the wrong one first fails, unless an AKI identifies the right one. */
const sameName: Rule = ({ entries }, { bearersOf, selfSigned }) =>
  entries.flatMap((entry) => {
    const { issuer, issuerKey, authorityKeyId, authoritySerial } = entry.certificate;
    if (authorityKeyId !== undefined || authoritySerial !== undefined) return [];
    const { certificates, keys } = bearersOf(issuerKey);
    if (keys < 2) return [];
    const wrong = selfSigned.has(entry)
      ? 'what it issued without an AKI may be checked against the wrong one and refused'
      : 'it may be checked against the wrong one and refused';
    const remedy = 'issue with SKI and AKI, or give each CA its own name';
    const message = `no AKI, and ${certificates} certificates here are called ${issuer}: ${wrong}; ${remedy}`;
    return [about('SAME_NAME_WITHOUT_AKI', entry, message)];
  });

const NAMED_AS_TRUST = /^(ca|cas|.*(bundle|trust|anchors|roots).*)(\.|$)/i;

/** A leaf is first in a file that a server presents. In any other file it is in the place of an anchor. */
const leafAsAnchor: Rule = ({ name, entries }, { issuers, selfSigned }) => {
  const [first] = entries;
  const isChain =
    first !== undefined &&
    !first.certificate.isCa &&
    !selfSigned.has(first) &&
    !NAMED_AS_TRUST.test(basename(name)) &&
    (entries.length === 1 || issuers.get(first)?.some((issuer) => entries.includes(issuer)) === true);
  return entries
    .filter((entry) => !entry.certificate.isCa && (entry.trusted ?? !(isChain && entry === first)))
    .map((entry) =>
      about(
        'LEAF_AS_ANCHOR',
        entry,
        'not a CA, but in the place of a trust anchor: most verifiers do not accept it; put its CA here',
      ),
    );
};

const duplicates: Rule = ({ entries }) => {
  const first = new Map<string, InspectedEntry>();
  return entries.flatMap((entry) => {
    const earlier = first.get(entry.certificate.fingerprint);
    if (earlier !== undefined) return [about('DUPLICATE', entry, `the same as certificate ${earlier.index}`)];
    first.set(entry.certificate.fingerprint, entry);
    return [];
  });
};

const junk: Rule = ({ junk: runs }) => {
  const [first, ...more] = runs;
  if (first === undefined) return [];
  const places = more.length === 0 ? '' : `, and in ${more.length} more place${more.length === 1 ? '' : 's'}`;
  return [
    aboutFile(
      'JUNK',
      first.line,
      `text outside the blocks: "${first.text}"${places}; some readers refuse such a file`,
    ),
  ];
};

const RULES: readonly Rule[] = [privateKeys, sameName, leafAsAnchor, dates, duplicates, otherBlocks, junk];

/** All warnings about a file, in the order of RULES. */
export const warningsOf = (file: InspectedFile, relations: Relations, now: Instant): readonly Warning[] =>
  RULES.flatMap((rule) => rule(file, relations, now));
