import { type Password, readStore, type StoreFormat, storeFormatOf } from '@handover/core';
import { type Certificate, HandoverError, type Junk, parseCertificate, parsePem } from '@handover/material';
import { CliError } from '../error.ts';

/** Where something is: its line in a PEM file, its name in a keystore. */
export interface Position {
  readonly line: number | undefined;
  readonly alias: string | undefined;
}

/** A certificate and its place. */
export interface InspectedEntry extends Position {
  /** `standard input` for `-`. */
  readonly file: string;
  /** Counted from 1 within its file. */
  readonly index: number;
  /** Whether a keystore holds it as an anchor; undefined: PEM does not say. */
  readonly trusted: boolean | undefined;
  readonly certificate: Certificate;
}

export interface InspectedFile {
  readonly name: string;
  readonly entries: readonly InspectedEntry[];
  readonly format: 'pem' | StoreFormat;
  /** A keystore that its password opened; one without a password was not checked. */
  readonly checked: boolean;
  /** Blocks that are not certificates, and keys of a keystore; the bytes of a private key are not stored. */
  readonly others: readonly (Position & { readonly label: string })[];
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

const parseStore = (
  name: string,
  format: StoreFormat,
  bytes: Uint8Array,
  password: Password | undefined,
): InspectedFile => {
  const { keys, certificates } = named(name, () => readStore(format, bytes, password));
  const entries = certificates.map(({ der, alias, trusted }, index): InspectedEntry => {
    const certificate = named(name, () => parseCertificate(der), `, certificate ${index + 1}`);
    return { file: name, index: index + 1, line: undefined, alias, trusted, certificate };
  });
  const others = keys.map((alias) => ({ label: 'PRIVATE KEY', line: undefined, alias }));
  return { name, format, checked: password !== undefined, entries, others, junk: [] };
};

/** `password` opens keystores; PEM files need none. */
export const parseFile = (path: string, bytes: Uint8Array, password?: Password): InspectedFile => {
  const name = path === '-' ? 'standard input' : path;
  const format = named(name, () => storeFormatOf(bytes));
  return format === undefined ? parsePemFile(name, bytes) : parseStore(name, format, bytes, password);
};

const parsePemFile = (name: string, bytes: Uint8Array): InspectedFile => {
  const { blocks, junk } = named(name, () => parsePem(bytes));
  const entries: InspectedEntry[] = [];
  const others: { label: string; line: number; alias: undefined }[] = [];
  for (const { label, line, der } of blocks) {
    if (label !== 'CERTIFICATE') {
      others.push({ label, line, alias: undefined });
      continue;
    }
    const certificate = named(name, () => parseCertificate(der), `, line ${line}`);
    entries.push({
      file: name,
      index: entries.length + 1,
      line,
      alias: undefined,
      trusted: undefined,
      certificate,
    });
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
      `${name}: no certificate; ${found}; give a PEM file with CERTIFICATE blocks, or a keystore`,
      {
        path: name,
      },
    );
  }
  return { name, format: 'pem', checked: false, entries, others, junk };
};
