import { DerReader, readBitString, readIntegerHex, readOid, TAG } from './der.ts';
import { CURVES, DIGESTS, OID, SIGNATURE_ALGORITHMS } from './oid.ts';

const bitsOf = (hex: string): number => {
  const digits = hex.replace(/^-/, '');
  return (digits.length - 1) * 4 + Number.parseInt(digits[0] ?? '0', 16).toString(2).length;
};

/** At most one element may follow the OID of an AlgorithmIdentifier, of one of these types. */
const skipParameters = (algorithm: DerReader): void => {
  const tag = algorithm.peek();
  if (tag === TAG.null) {
    if (!algorithm.element().done) algorithm.fail('NULL with content');
  } else if (tag === TAG.oid) {
    readOid(algorithm);
  } else if (tag === TAG.sequence) {
    algorithm.element();
  }
  algorithm.finish('algorithm');
};

/** Reads SubjectPublicKeyInfo and names the key: `ECDSA-P256`, `RSA-2048`, `Ed25519`, or its OID. */
export function readKeyAlgorithm(from: DerReader): string {
  const info = from.enter(TAG.sequence, 'public key');
  const algorithm = info.enter(TAG.sequence, 'key algorithm');
  const oid = readOid(algorithm);
  skipParameters(new DerReader(algorithm.bytes, algorithm.at, algorithm.end));
  const { bits, unused } = readBitString(info);
  info.finish('public key');
  switch (oid) {
    case OID.rsaEncryption:
    case OID.rsaPss: {
      if (unused !== 0) info.fail('RSA key of a bad form');
      const outer = new DerReader(bits);
      const key = outer.enter(TAG.sequence, 'RSA key');
      outer.finish('RSA key');
      const modulus = readIntegerHex(key);
      readIntegerHex(key);
      key.finish('RSA key');
      return `${oid === OID.rsaPss ? 'RSA-PSS' : 'RSA'}-${bitsOf(modulus)}`;
    }
    case OID.ecPublicKey: {
      if (algorithm.peek() !== TAG.oid) return 'ECDSA-explicit';
      const curve = readOid(algorithm);
      return `ECDSA-${CURVES[curve] ?? curve}`;
    }
    case OID.ed25519:
      return 'Ed25519';
    case OID.ed448:
      return 'Ed448';
    default:
      return oid;
  }
}

/** Reads the content of an AlgorithmIdentifier and names the signature algorithm. */
export function readSignatureAlgorithm(algorithm: DerReader): string {
  const oid = readOid(algorithm);
  if (oid !== OID.rsaPss) {
    skipParameters(algorithm);
    return SIGNATURE_ALGORITHMS[oid] ?? oid;
  }
  if (algorithm.peek() !== TAG.sequence) return algorithm.fail('RSA-PSS without parameters');
  const parameters = algorithm.element();
  algorithm.finish('signature algorithm');
  if (parameters.peek() !== 0xa0) return 'RSA-PSS-SHA1'; // the default: RFC 4055 §3.1
  const digest = readOid(parameters.element().enter(TAG.sequence, 'digest algorithm'));
  return `RSA-PSS-${DIGESTS[digest] ?? digest}`;
}
