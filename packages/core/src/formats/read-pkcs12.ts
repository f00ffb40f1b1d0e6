import { createHmac } from 'node:crypto';
import { DER_TAG, DerReader, readOid } from '@handover/material';
import { CoreError } from '../error.ts';
import { decrypt, readIterations, unsupported } from './decrypt.ts';
import type { Password } from './password.ts';
import { PKCS12_OID } from './pkcs12.ts';
import { type Pkcs12Hash, pkcs12Key } from './pkcs12-key.ts';
import type { ReadStore, StoreReader } from './read-store.ts';

// RFC 7292: the counterpart of pkcs12.ts, for files of other programs too.

const ENCRYPTED_DATA = '1.2.840.113549.1.7.6';
const PLAIN_KEY_BAG = '1.2.840.113549.1.12.10.1.1';
/** Programs write two or three. Each may ask for many rounds of hashing. */
const MOST_PARTS = 16;
const CONTENT_0 = 0xa0;
const IMPLICIT_0 = 0x80;

const MACS: Readonly<Record<string, Pkcs12Hash>> = {
  '1.3.14.3.2.26': 'sha1',
  [PKCS12_OID.sha256]: 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
};

const checkMac = (from: DerReader, content: Uint8Array, password: Password): void => {
  const digest = from.enter(DER_TAG.sequence, 'digest');
  const algorithm =
    MACS[readOid(digest.enter(DER_TAG.sequence, 'hash'))] ?? unsupported('an unknown hash for its MAC');
  const mac = digest.enter(DER_TAG.octetString, 'MAC').rest();
  const salt = from.enter(DER_TAG.octetString, 'salt').rest();
  const iterations = from.done ? 1 : readIterations(from);
  const key = pkcs12Key(algorithm, 'mac', { text: password.utf16, salt, iterations });
  if (!createHmac(algorithm, key).update(content).digest().equals(mac))
    throw new CoreError('KEYSTORE_PASSWORD', 'the password does not open the keystore; give the right file');
};

/** The SafeContents in a ContentInfo. */
const safeIn = (info: DerReader, password: Password | undefined): Uint8Array => {
  const kind = readOid(info);
  const content = info.enter(CONTENT_0, 'content');
  if (kind === PKCS12_OID.data) return content.enter(DER_TAG.octetString, 'data').rest();
  if (kind !== ENCRYPTED_DATA) return unsupported('encryption with a public key');
  if (password === undefined)
    throw new CoreError(
      'KEYSTORE_PASSWORD',
      'the certificates in the keystore are encrypted; give its password with --password-file',
    );
  const data = content.enter(DER_TAG.sequence, 'encrypted data');
  data.element(); // its version
  const encrypted = data.enter(DER_TAG.sequence, 'encrypted content');
  readOid(encrypted);
  const algorithm = encrypted.enter(DER_TAG.sequence, 'algorithm');
  return decrypt(algorithm, encrypted.enter(IMPLICIT_0, 'encrypted bytes').rest(), password);
};

interface Bag {
  readonly kind: string;
  readonly value: DerReader;
  readonly alias: string | undefined;
  readonly isAnchor: boolean;
}

const bagIn = (safe: DerReader): Bag => {
  const bag = safe.enter(DER_TAG.sequence, 'bag');
  const kind = readOid(bag);
  const value = bag.enter(CONTENT_0, 'value');
  let alias: string | undefined;
  let isAnchor = false;
  const attributes = bag.done ? undefined : bag.enter(DER_TAG.set, 'attributes');
  while (attributes !== undefined && !attributes.done) {
    const attribute = attributes.enter(DER_TAG.sequence, 'attribute');
    const name = readOid(attribute);
    const values = attribute.enter(DER_TAG.set, 'values');
    if (name === PKCS12_OID.trustedKeyUsage) isAnchor = true;
    if (name !== PKCS12_OID.friendlyName || values.peek() !== DER_TAG.bmpString) continue;
    const text = values.element().rest();
    if (text.length % 2 === 0) alias = Buffer.from(text).swap16().toString('utf16le');
  }
  return { kind, value, alias, isAnchor };
};

export const readPkcs12: StoreReader = (bytes, password) => {
  const pfx = new DerReader(bytes).enter(DER_TAG.sequence, 'PFX');
  pfx.element(); // its version
  const whole = safeIn(pfx.enter(DER_TAG.sequence, 'content'), password);
  if (password !== undefined && !pfx.done) checkMac(pfx.enter(DER_TAG.sequence, 'MAC'), whole, password);
  const infos = new DerReader(whole).enter(DER_TAG.sequence, 'contents');
  const bags: Bag[] = [];
  for (let parts = 1; !infos.done; parts++) {
    if (parts > MOST_PARTS) return unsupported(`more than ${MOST_PARTS} parts`);
    const safe = new DerReader(safeIn(infos.enter(DER_TAG.sequence, 'content'), password));
    for (const bagsIn = safe.enter(DER_TAG.sequence, 'bags'); !bagsIn.done; ) bags.push(bagIn(bagsIn));
  }
  const keys = bags
    .filter(({ kind }) => kind === PKCS12_OID.keyBag || kind === PLAIN_KEY_BAG)
    .map(({ alias }) => alias);
  const certificates = bags.flatMap(({ kind, value, alias, isAnchor }): ReadStore['certificates'] => {
    if (kind !== PKCS12_OID.certBag) return [];
    const certificate = value.enter(DER_TAG.sequence, 'certificate');
    if (readOid(certificate) !== PKCS12_OID.x509) return [];
    const der = certificate.enter(CONTENT_0, 'value').enter(DER_TAG.octetString, 'certificate').rest();
    // OpenSSL does not mark anchors: `-nokeys` makes a file of nothing else.
    return [{ der, alias, trusted: isAnchor || keys.length === 0 }];
  });
  return { keys, certificates };
};
