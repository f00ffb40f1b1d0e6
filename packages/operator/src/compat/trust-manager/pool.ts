import { createHash } from 'node:crypto';
import { type Certificate, HandoverError, parseBundle } from '@handover/material';
import { isCode, OperatorError } from '../../error.ts';

/** Certificates as trust-manager hands them out: each once, ordered by the SHA-256 of their DER. */
export interface Pool {
  readonly certificates: readonly Certificate[];
  /** Without a line end behind the last: consumers may compare bytes. */
  readonly pem: string;
}

/** Go refuses such a certificate, so trust-manager leaves it out of every bundle. */
const hasNegativeSerial = ({ serial }: Certificate): boolean => serial.startsWith('-');

/** The certificates of a text. Text without any gives none, as for trust-manager; a damaged one is refused here. */
export const certificatesIn = (text: string | Uint8Array, where: string): readonly Certificate[] => {
  try {
    return parseBundle(text, where).certificates.filter((certificate) => !hasNegativeSerial(certificate));
  } catch (error) {
    if (isCode(error, 'BUNDLE_EMPTY')) return [];
    if (!(error instanceof HandoverError) || error.message.includes(where)) throw error;
    throw new OperatorError('OBJECT_OBSTACLE', `${where}: ${error.message}`, { path: where, cause: error });
  }
};

export const poolOf = (certificates: readonly Certificate[]): Pool => {
  const byFingerprint = new Map(certificates.map((certificate) => [certificate.fingerprint, certificate]));
  const ordered = [...byFingerprint.values()].sort((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1));
  return {
    certificates: ordered,
    pem: ordered
      .map(({ pem }) => pem)
      .join('')
      .trimEnd(),
  };
};

export const sha256 = (...parts: readonly (string | Uint8Array)[]): string => {
  const sum = createHash('sha256');
  for (const part of parts) sum.update(part);
  return sum.digest('hex');
};
