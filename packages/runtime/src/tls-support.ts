import { getCurves } from 'node:crypto';
import { createSecureContext, getCiphers } from 'node:tls';
import type { TlsSupport } from '@handover/material';
import { clearOpenSslErrors } from './openssl-errors.ts';

/** Groups that are not elliptic curves to OpenSSL, so that `getCurves` does not list them. */
const OTHER_GROUPS = ['X25519', 'X448', 'X25519MLKEM768', 'SecP256r1MLKEM768', 'SecP384r1MLKEM1024'];

const isGroup = (name: string): boolean => {
  try {
    createSecureContext({ ecdhCurve: name });
    return true;
  } catch {
    clearOpenSslErrors();
    return false;
  }
};

let support: TlsSupport | undefined;

/** What this process's OpenSSL knows. There is no list of groups to ask for: the doubtful ones are tried. */
export function tlsSupport(): TlsSupport {
  support ??= { ciphers: getCiphers(), groups: [...getCurves(), ...OTHER_GROUPS.filter(isGroup)] };
  return support;
}
