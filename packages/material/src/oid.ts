/** Attribute types with a short name in RFC 4514 §3, and those seen in real CA names. */
export const ATTRIBUTE_NAMES: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.4': 'SN',
  '2.5.4.5': 'serialNumber',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.9': 'street',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '2.5.4.42': 'GN',
  '2.5.4.97': 'organizationIdentifier',
  '0.9.2342.19200300.100.1.1': 'UID',
  '0.9.2342.19200300.100.1.25': 'DC',
  '1.2.840.113549.1.9.1': 'emailAddress',
};

/** In the order of their bits: RFC 5280 §4.2.1.3. */
export const KEY_USAGES = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
] as const;

export const EXTENDED_KEY_USAGES: Readonly<Record<string, string>> = {
  '2.5.29.37.0': 'anyExtendedKeyUsage',
  '1.3.6.1.5.5.7.3.1': 'serverAuth',
  '1.3.6.1.5.5.7.3.2': 'clientAuth',
  '1.3.6.1.5.5.7.3.3': 'codeSigning',
  '1.3.6.1.5.5.7.3.4': 'emailProtection',
  '1.3.6.1.5.5.7.3.8': 'timeStamping',
  '1.3.6.1.5.5.7.3.9': 'OCSPSigning',
};

export const SIGNATURE_ALGORITHMS: Readonly<Record<string, string>> = {
  '1.2.840.10045.4.1': 'ECDSA-SHA1',
  '1.2.840.10045.4.3.1': 'ECDSA-SHA224',
  '1.2.840.10045.4.3.2': 'ECDSA-SHA256',
  '1.2.840.10045.4.3.3': 'ECDSA-SHA384',
  '1.2.840.10045.4.3.4': 'ECDSA-SHA512',
  '1.2.840.113549.1.1.4': 'RSA-MD5',
  '1.2.840.113549.1.1.5': 'RSA-SHA1',
  '1.2.840.113549.1.1.11': 'RSA-SHA256',
  '1.2.840.113549.1.1.12': 'RSA-SHA384',
  '1.2.840.113549.1.1.13': 'RSA-SHA512',
  '1.2.840.113549.1.1.14': 'RSA-SHA224',
  '1.3.101.112': 'Ed25519',
  '1.3.101.113': 'Ed448',
};

export const DIGESTS: Readonly<Record<string, string>> = {
  '1.3.14.3.2.26': 'SHA1',
  '2.16.840.1.101.3.4.2.1': 'SHA256',
  '2.16.840.1.101.3.4.2.2': 'SHA384',
  '2.16.840.1.101.3.4.2.3': 'SHA512',
  '2.16.840.1.101.3.4.2.4': 'SHA224',
};

export const CURVES: Readonly<Record<string, string>> = {
  '1.2.840.10045.3.1.7': 'P256',
  '1.3.132.0.34': 'P384',
  '1.3.132.0.35': 'P521',
  '1.3.132.0.10': 'secp256k1',
};

export const OID = {
  rsaEncryption: '1.2.840.113549.1.1.1',
  rsaPss: '1.2.840.113549.1.1.10',
  ecPublicKey: '1.2.840.10045.2.1',
  ed25519: '1.3.101.112',
  ed448: '1.3.101.113',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  netscapeCertType: '2.16.840.1.113730.1.1',
  proxyCertInfo: '1.3.6.1.5.5.7.1.14',
} as const;
