import { getCurves } from 'node:crypto';
import { createSecureContext, getCiphers } from 'node:tls';
import type { TlsSupport } from '@handover/material';
import { clearOpenSslErrors } from '../openssl-errors.ts';

/** Groups that `getCurves` never lists, because OpenSSL does not count them as elliptic curves. */
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

/** Ciphers and groups of this process's OpenSSL. OpenSSL lists no groups, so the groups in doubt are tried. */
export const tlsSupport = (): TlsSupport => ({
  ciphers: getCiphers(),
  groups: [...getCurves(), ...OTHER_GROUPS.filter(isGroup)],
});
