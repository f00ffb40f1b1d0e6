import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { DerReader, readBitString, readOid, readSmallInteger, TAG } from './der.ts';
import { HandoverError, MaterialError } from './error.ts';
import { type Extensions, NO_EXTENSIONS, readExtensions } from './extensions.ts';
import { stringOf } from './name.ts';
import { ATTRIBUTE_NAMES, OID } from './oid.ts';
import { scanPem } from './pem.ts';
import { readKeyAlgorithm, readSignatureAlgorithm } from './public-key.ts';

/** A certificate signing request (PKCS #10, RFC 2986), read strictly. Its signature was made with its key. */
export interface SigningRequest extends Extensions {
  /** Of the subject, in their order: `['CN', 'web']`. */
  readonly attributes: readonly (readonly [string, string])[];
  /** `ECDSA-P256`, `RSA-2048`, `Ed25519`, or an OID. */
  readonly keyAlgorithm: string;
  readonly publicKey: KeyObject;
  /** OIDs of extensions that it asks for and that no field here stands for. */
  readonly otherExtensions: readonly string[];
}

/** More than any request needs; an RSA-4096 key and a hundred names fit many times. */
const MOST_BYTES = 64 * 1024;
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
const KNOWN: ReadonlySet<string> = new Set([
  OID.subjectAltName,
  OID.keyUsage,
  OID.extendedKeyUsage,
  OID.basicConstraints,
  OID.subjectKeyIdentifier,
]);
/** What the signature over the request itself may be made with: peers gave up SHA-1 and MD5. */
const HASHES: Readonly<Record<string, string>> = {
  'ECDSA-SHA256': 'sha256',
  'ECDSA-SHA384': 'sha384',
  'ECDSA-SHA512': 'sha512',
  'RSA-SHA256': 'sha256',
  'RSA-SHA384': 'sha384',
  'RSA-SHA512': 'sha512',
};

const refuse = (why: string): never => {
  throw new MaterialError('SIGNING_REQUEST_REFUSED', `the signing request ${why}`);
};

const attributesOf = (from: DerReader): readonly (readonly [string, string])[] => {
  const rdns = from.enter(TAG.sequence, 'subject');
  const found: (readonly [string, string])[] = [];
  while (!rdns.done) {
    const rdn = rdns.enter(TAG.set, 'relative name');
    while (!rdn.done) {
      const attribute = rdn.enter(TAG.sequence, 'attribute');
      const type = readOid(attribute);
      const tag = attribute.peek();
      const value = attribute.element();
      attribute.finish('attribute');
      found.push([ATTRIBUTE_NAMES[type] ?? type, stringOf(tag, value)]);
    }
  }
  return found;
};

/** The extensions that it asks for. Other attributes, such as a challenge password, ask for nothing in a certificate. */
const requestedIn = (info: DerReader): { extensions: Extensions; others: readonly string[] } => {
  const attributes = info.enter(0xa0, 'attributes');
  let found: { extensions: Extensions; others: readonly string[] } | undefined;
  while (!attributes.done) {
    const attribute = attributes.enter(TAG.sequence, 'attribute');
    const type = readOid(attribute);
    const values = attribute.enter(TAG.set, 'attribute values');
    attribute.finish('attribute');
    if (type !== EXTENSION_REQUEST) continue;
    if (found !== undefined) attributes.fail('two lists of extensions');
    const others = oidsIn(new DerReader(values.bytes, values.at, values.end)).filter(
      (oid) => !KNOWN.has(oid),
    );
    found = { extensions: readExtensions(values), others };
    values.finish('extension request');
  }
  return found ?? { extensions: NO_EXTENSIONS, others: [] };
};

const oidsIn = (from: DerReader): readonly string[] => {
  const list = from.enter(TAG.sequence, 'extensions');
  const oids: string[] = [];
  while (!list.done) oids.push(readOid(list.enter(TAG.sequence, 'extension')));
  return oids;
};

const keyIn = (spki: Uint8Array): KeyObject => {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
  } catch {
    return refuse('holds a key that OpenSSL cannot read; make a new key');
  }
};

const isOwn = (key: KeyObject, hash: string, info: Uint8Array, signature: Uint8Array): boolean => {
  try {
    return verify(hash, info, key, signature);
  } catch {
    return false; // the key is of another type than the signature
  }
};

const parse = (der: Uint8Array): SigningRequest => {
  const outer = new DerReader(der);
  const request = outer.enter(TAG.sequence, 'signing request');
  outer.finish('signing request');
  const from = request.at;
  const info = request.enter(TAG.sequence, 'request information');
  const signed = der.subarray(from, request.at);
  const hash = HASHES[readSignatureAlgorithm(request.enter(TAG.sequence, 'signature algorithm'))];
  const { bits } = readBitString(request);
  request.finish('signature');
  if (readSmallInteger(info) !== 0) info.fail('unknown version');
  const attributes = attributesOf(info);
  const keyFrom = info.at;
  const keyAlgorithm = readKeyAlgorithm(info);
  const publicKey = keyIn(der.subarray(keyFrom, info.at));
  const { extensions, others } = requestedIn(info);
  info.finish('request information');
  if (hash === undefined)
    return refuse('is signed with an algorithm that is not accepted; use ECDSA or RSA with SHA-256');
  if (!isOwn(publicKey, hash, signed, bits))
    return refuse('is not signed with its own key; make it with the key that the certificate is for');
  return { attributes, keyAlgorithm, publicKey, otherExtensions: others, ...extensions };
};

/** Reads one CERTIFICATE REQUEST and verifies that its sender has the key. Throws `SIGNING_REQUEST_REFUSED`. */
export function parseSigningRequest(pem: string | Uint8Array): SigningRequest {
  if (pem.length > MOST_BYTES) return refuse(`is larger than ${MOST_BYTES / 1024} KiB; ask for fewer names`);
  try {
    const { blocks } = scanPem(pem, (label) => {
      if (label !== 'CERTIFICATE REQUEST' && label !== 'NEW CERTIFICATE REQUEST')
        refuse('holds PEM that is not a CERTIFICATE REQUEST; send the request alone');
    });
    const [block, second] = blocks;
    if (block === undefined || second !== undefined)
      return refuse('must be one PEM block CERTIFICATE REQUEST');
    return parse(block.der);
  } catch (error) {
    if (!(error instanceof HandoverError) || error.code === 'SIGNING_REQUEST_REFUSED') throw error;
    return refuse(`cannot be read: ${error.message.replace('not a DER certificate: ', '')}; make it anew`);
  }
}
