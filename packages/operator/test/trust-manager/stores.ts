import { Password, readStore, type StoreFormat } from '@handover/core';
import { expect } from 'vitest';

/** The keystore opens with the password, and has so many certificates. */
export const checkStore = (
  format: StoreFormat,
  bytes: Uint8Array,
  password: string,
  certificates: number,
): void => {
  expect(readStore(format, bytes, Password.open(password)).certificates).toHaveLength(certificates);
};
