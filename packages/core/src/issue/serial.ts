import { CoreError } from '../error.ts';
import { unsignedInteger } from './der-writer.ts';

/**
 * A certificate's serial number from random bytes: positive, never zero, at most 20 octets as encoded (RFC 5280
 * §4.1.2.2). At least 8 bytes come in and all their 64 bits stay: a set top bit costs a leading zero octet, and only
 * a full 20 bytes lose it instead.
 */
export const serialNumber = (random: Uint8Array): Uint8Array => {
  if (random.length < 8 || random.length > 20) {
    throw new CoreError('ISSUE_SERIAL', `a serial number takes 8 to 20 random bytes, got ${random.length}`);
  }
  if (random.every((byte) => byte === 0)) {
    throw new CoreError('ISSUE_SERIAL', 'a serial number cannot be zero; pass random bytes');
  }
  if (random.length < 20) return unsignedInteger(random);
  const positive = Uint8Array.from(random);
  positive[0] = (positive[0] ?? 0) & 0x7f;
  return unsignedInteger(positive);
};
