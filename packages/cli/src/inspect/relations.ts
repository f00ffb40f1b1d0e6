import { type KeyObject, X509Certificate } from 'node:crypto';
import type { InspectedEntry, InspectedFile } from './file.ts';

/** Certificates of one name to try as the issuer of another: thousands of them would take minutes. */
const MOST_CANDIDATES = 8;

/** Issuers across all inspected files. */
export interface Relations {
  readonly entries: readonly InspectedEntry[];
  /** Certificates whose key made its signature; a self-signed one that is not the entry itself comes first. */
  readonly issuers: ReadonlyMap<InspectedEntry, readonly InspectedEntry[]>;
  readonly selfSigned: ReadonlySet<InspectedEntry>;
  /** How many certificates have the name, and how many different keys. */
  readonly bearersOf: (subjectKey: string) => { readonly certificates: number; readonly keys: number };
}

interface Native {
  readonly x509: X509Certificate;
  readonly key: KeyObject;
}

const nativeOf = ({ certificate }: InspectedEntry): Native | undefined => {
  try {
    const x509 = new X509Certificate(certificate.der);
    return { x509, key: x509.publicKey };
  } catch {
    return undefined; // a curve or an algorithm that this OpenSSL lacks
  }
};

const signed = (child: Native | undefined, issuer: Native | undefined): boolean => {
  if (child === undefined || issuer === undefined) return false;
  try {
    return child.x509.verify(issuer.key);
  } catch {
    return false;
  }
};

export const relate = (files: readonly InspectedFile[]): Relations => {
  const entries = files.flatMap((file) => file.entries);
  const byName = new Map<string, InspectedEntry[]>();
  for (const entry of entries) {
    const { subjectKey } = entry.certificate;
    const namesakes = byName.get(subjectKey);
    if (namesakes === undefined) byName.set(subjectKey, [entry]);
    else namesakes.push(entry);
  }
  const natives = new Map<string, Native | undefined>();
  const native = (entry: InspectedEntry): Native | undefined => {
    const { fingerprint } = entry.certificate;
    if (!natives.has(fingerprint)) natives.set(fingerprint, nativeOf(entry));
    return natives.get(fingerprint);
  };
  const selfSigned = new Set(
    entries.filter((entry) => entry.certificate.selfIssued && signed(native(entry), native(entry))),
  );
  const likely = (entry: InspectedEntry): readonly InspectedEntry[] => {
    const { issuerKey, authorityKeyId } = entry.certificate;
    const candidates = (byName.get(issuerKey) ?? []).filter((candidate) => candidate !== entry);
    if (candidates.length <= MOST_CANDIDATES) return candidates;
    const named = candidates.filter((candidate) => candidate.certificate.subjectKeyId === authorityKeyId);
    return (named.length > 0 ? named : candidates).slice(0, MOST_CANDIDATES);
  };
  const issuers = new Map(
    entries.map((entry): [InspectedEntry, readonly InspectedEntry[]] => {
      if (selfSigned.has(entry)) return [entry, []];
      const found = likely(entry).filter((candidate) => signed(native(entry), native(candidate)));
      return [entry, found.sort((a, b) => Number(selfSigned.has(b)) - Number(selfSigned.has(a)))];
    }),
  );
  const counted = new Map<string, { certificates: number; keys: number }>();
  const bearersOf: Relations['bearersOf'] = (subjectKey) => {
    const bearers = byName.get(subjectKey) ?? [];
    const count = counted.get(subjectKey) ?? {
      certificates: bearers.length,
      keys: new Set(bearers.map((entry) => spkiOf(native(entry)))).size,
    };
    counted.set(subjectKey, count);
    return count;
  };
  return { entries, issuers, selfSigned, bearersOf };
};

const spkiOf = (native: Native | undefined): string | undefined =>
  native?.key.export({ type: 'spki', format: 'der' }).toString('base64');
