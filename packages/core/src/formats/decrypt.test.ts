import { bytesOf, DerReader } from '@handover/material';
import { expect, test } from 'vitest';
import { decrypt } from './decrypt.ts';
import { Password } from './password.ts';

const password = Password.parse(bytesOf('correct horse'), 'password');
/** pbeWithSHAAnd3-KeyTripleDES-CBC with a salt of eight bytes and 2048 iterations. */
const algorithm = () =>
  new DerReader(Buffer.from('060a2a864886f70d010c0103300e0408000102030405060702020800', 'hex'));

test('bytes that the password does not open are the fault of the password, a value of a wrong type is not', () => {
  expect(() => decrypt(algorithm(), Buffer.alloc(16), password)).toThrowError(
    expect.objectContaining({ code: 'KEYSTORE_PASSWORD' }),
  );
  expect(() => decrypt(algorithm(), undefined as never, password)).toThrow(TypeError);
});
