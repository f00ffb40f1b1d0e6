import { existsSync } from 'node:fs';
import * as tls from 'node:tls';
import { RuntimeError } from './error.ts';

/**
 * Roots that a program can trust beside its own files: Node's own, or those of the operating system.
 *
 * @example
 * ```ts
 * import { openTrust, type Roots } from '@handover/runtime';
 *
 * const roots: Roots = 'bundled';
 * const trust = await openTrust(['/etc/mesh/ca.crt', roots]);
 * console.log((trust.status().anchors?.length ?? 0) > 100); // true
 * ```
 */
export type Roots = 'bundled' | 'system';

/** Where Debian, Fedora, Alpine and macOS keep the roots in one file. */
const SYSTEM_FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
] as const;

/** The system's file of roots, which is followed like any other; `SSL_CERT_FILE` names it as for OpenSSL. */
export function systemRootsFile(): string {
  const { SSL_CERT_FILE: named } = process.env;
  const found = named || SYSTEM_FILES.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new RuntimeError(
    'OPTION_INVALID',
    "openTrust: 'system' found no file of roots; install ca-certificates, set SSL_CERT_FILE, or use 'bundled'",
  );
}

export const bundledRoots = (): string => tls.rootCertificates.join('\n');
