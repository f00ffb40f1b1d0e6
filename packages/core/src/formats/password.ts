import { Unprintable } from '@handover/material';
import { CoreError } from '../error.ts';

const LEAST = 6;
const MOST = 128;

/** Text that opens a keystore. It cannot be printed, logged or serialised by accident. */
export class Password extends Unprintable<'[password]'> {
  readonly #text: string;

  private constructor(text: string) {
    super('[password]');
    this.#text = text;
  }

  /**
   * One line of 6 to 128 printable ASCII characters: keytool wants 6, and Java refuses other characters for AES. A line end behind it, as
   * editors and `echo` write it, is no part of it. `path` is only for the message, which never holds the text.
   */
  static parse(bytes: Uint8Array, path: string): Password {
    const text = Buffer.from(bytes)
      .toString('latin1')
      .replace(/\r?\n$/, '');
    if (text.length >= LEAST && text.length <= MOST && /^[\x20-\x7e]*$/.test(text)) return new Password(text);
    throw new CoreError(
      'PASSWORD_UNUSABLE',
      `${path} holds no usable password; write one line of ${LEAST} to ${MOST} printable ASCII characters`,
      { path },
    );
  }

  /** What Java's own cacerts has: for stores that hold nothing secret. */
  static readonly wellKnown = new Password('changeit');

  /** Of a truststore, where it stands beside the certificates for all to read: trust-manager allows 1 to 128 characters. */
  static open(text: string): Password {
    return new Password(text);
  }

  /** PBES2 takes the characters themselves. */
  get bytes(): Uint8Array {
    return Buffer.from(this.#text, 'utf8');
  }

  /** Two bytes a character, big endian: what PKCS#12's MAC and JKS take. */
  get utf16(): Uint8Array {
    return Buffer.from(this.#text, 'utf16le').swap16();
  }
}
