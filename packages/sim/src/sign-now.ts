import { type KeyObject, sign } from 'node:crypto';
import { signedWith, type Unsigned } from '@handover/core';

/** A certificate, DER, signed with a P-256 key in hand: simulator and model checker make certificates between two checks and cannot wait. */
export const signNow = (certificate: Unsigned, key: KeyObject): Uint8Array =>
  signedWith(certificate, sign('sha256', certificate.tbs, key));
