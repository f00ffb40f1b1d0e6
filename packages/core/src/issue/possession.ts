import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { DER_TAG, DerReader, HandoverError, readOid } from '@handover/material';
import { CoreError } from '../error.ts';

/** Attributes of a PKCS#10 request: RFC 2986 §4.1. */
const ATTRIBUTES = 0xa0;

interface Scheme {
  /** Undefined: the algorithm brings its own. */
  readonly hash: string | undefined;
  readonly key: KeyObject['asymmetricKeyType'];
}

/** Signatures of a signing request, by OID: those that Go, OpenSSL and node:crypto make by default. */
const SCHEMES: Readonly<Record<string, Scheme>> = {
  '1.2.840.113549.1.1.11': { hash: 'sha256', key: 'rsa' },
  '1.2.840.113549.1.1.12': { hash: 'sha384', key: 'rsa' },
  '1.2.840.113549.1.1.13': { hash: 'sha512', key: 'rsa' },
  '1.2.840.10045.4.3.2': { hash: 'sha256', key: 'ec' },
  '1.2.840.10045.4.3.3': { hash: 'sha384', key: 'ec' },
  '1.2.840.10045.4.3.4': { hash: 'sha512', key: 'ec' },
  '1.3.101.112': { hash: undefined, key: 'ed25519' },
};

const malformed = (why: string, cause?: unknown): never => {
  throw new CoreError('SIGNING_REQUEST_MALFORMED', `the request cannot be read: ${why}; create a new one`, {
    cause,
  });
};

const unproven = (): never => {
  throw new CoreError(
    'SIGNING_REQUEST_UNPROVEN',
    'the signature does not fit the public key, so nothing shows that the requester holds the private key; create a new request',
  );
};

/** Keys that sign as `keyWithProof` expects. OpenSSL has others, some of which sign nothing. */
const PROVING: readonly KeyObject['asymmetricKeyType'][] = ['rsa', 'ec', 'ed25519'];

const keyOf = (spki: Uint8Array): KeyObject => {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
  } catch (cause) {
    return malformed('its public key is not one that OpenSSL knows', cause);
  }
};

interface Parts {
  readonly signed: Uint8Array;
  readonly spki: Uint8Array;
  readonly algorithm: string;
  readonly signature: Uint8Array;
}

const partsOf = (der: Uint8Array): Parts => {
  const outer = new DerReader(der);
  const request = outer.enter(DER_TAG.sequence, 'request');
  outer.finish('request');
  const from = request.at;
  const info = request.enter(DER_TAG.sequence, 'request info');
  const signed = der.subarray(from, request.at);
  info.enter(DER_TAG.integer, 'version');
  info.enter(DER_TAG.sequence, 'subject');
  const keyFrom = info.at;
  info.enter(DER_TAG.sequence, 'public key');
  const spki = der.subarray(keyFrom, info.at);
  if (info.peek() === ATTRIBUTES) info.element();
  info.finish('request info');
  const algorithm = readOid(request.enter(DER_TAG.sequence, 'signature algorithm'));
  const bits = request.enter(DER_TAG.bitString, 'signature').rest();
  request.finish('signature');
  if (bits[0] !== 0) malformed('its signature is not whole octets');
  return { signed, spki, algorithm, signature: bits.subarray(1) };
};

/** The public key of a PKCS#10 request (DER) whose signature shows that the requester holds the private key. Its names are not read. */
export const keyOfSigningRequest = (der: Uint8Array): KeyObject => {
  let parts: Parts;
  try {
    parts = partsOf(der);
  } catch (error) {
    if (!(error instanceof HandoverError) || error.code !== 'CERTIFICATE_MALFORMED') throw error;
    return malformed('it is not a PKCS#10 request in DER', error);
  }
  const scheme = SCHEMES[parts.algorithm];
  if (scheme === undefined) return malformed(`its signature algorithm ${parts.algorithm} is not known`);
  const key = keyOf(parts.spki);
  const fits =
    key.asymmetricKeyType === scheme.key && verify(scheme.hash, parts.signed, key, parts.signature);
  return fits ? key : unproven();
};

/** How older PodCertificateRequests show the same: the ASCII bytes of `text` are signed. RSA signs with PSS, all but Ed25519 over SHA-256. */
export const keyWithProof = (spki: Uint8Array, proof: Uint8Array, text: string): KeyObject => {
  const key = keyOf(spki);
  if (!PROVING.includes(key.asymmetricKeyType))
    throw new CoreError(
      'SIGNING_REQUEST_KEY_TYPE',
      `a key of type ${key.asymmetricKeyType ?? 'unknown'} is not one that the kubelet makes; create one of ECDSA or RSA`,
    );
  const data = Buffer.from(text, 'latin1');
  const fits =
    key.asymmetricKeyType === 'rsa'
      ? verify('sha256', data, { key, padding: constants.RSA_PKCS1_PSS_PADDING }, proof)
      : verify(key.asymmetricKeyType === 'ed25519' ? undefined : 'sha256', data, key, proof);
  return fits ? key : unproven();
};
