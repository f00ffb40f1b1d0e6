import { type Certificate, HandoverError, type Junk, parseCertificate, parsePem } from '@handover/material';
import { CliError } from '../error.ts';

/** A certificate and its place. */
export interface InspectedEntry {
  /** `standard input` for `-`. */
  readonly file: string;
  /** Counted from 1 within its file. */
  readonly index: number;
  readonly line: number;
  readonly certificate: Certificate;
}

export interface InspectedFile {
  readonly name: string;
  readonly entries: readonly InspectedEntry[];
  /** Blocks that are not certificates; the bytes of a private key are not stored. */
  readonly others: readonly { readonly label: string; readonly line: number }[];
  readonly junk: readonly Junk[];
}

/** Errors of `material` do not know the file's name. */
const named = <T>(name: string, action: () => T, at = ''): T => {
  try {
    return action();
  } catch (cause) {
    if (!(cause instanceof HandoverError)) throw cause;
    throw new CliError(cause.code, `${name}${at}: ${cause.message}`, { path: name, cause });
  }
};

export const parseFile = (path: string, bytes: Uint8Array): InspectedFile => {
  const name = path === '-' ? 'standard input' : path;
  const { blocks, junk } = named(name, () => parsePem(bytes));
  const entries: InspectedEntry[] = [];
  const others: { label: string; line: number }[] = [];
  for (const { label, line, der } of blocks) {
    if (label !== 'CERTIFICATE') {
      others.push({ label, line });
      continue;
    }
    const certificate = named(name, () => parseCertificate(der), `, line ${line}`);
    entries.push({ file: name, index: entries.length + 1, line, certificate });
  }
  if (entries.length === 0) {
    const found =
      bytes.length === 0
        ? 'the file is empty'
        : others.length === 0
          ? 'it holds no PEM block'
          : `it holds only ${[...new Set(others.map(({ label }) => label))].join(', ')}`;
    throw new CliError(
      'PEM_NO_CERTIFICATE',
      `${name}: no certificate; ${found}; give a file with CERTIFICATE blocks`,
      {
        path: name,
      },
    );
  }
  return { name, entries, others, junk };
};
