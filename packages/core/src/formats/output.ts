import { bytesOf, type Certificate, encodePem, type PrivateKey } from '@handover/material';
import { writeJks } from './jks.ts';
import type { Password } from './password.ts';
import { writePkcs12 } from './pkcs12.ts';
import type { StoreContent, StoreWriter } from './store.ts';

export type OutputFormat = 'pem' | 'combined' | 'der' | 'pkcs12' | 'jks';
/** `identity`: key and chain in one file. `certificate`: leaf and chain; of DER the leaf alone. */
export type OutputContent = 'identity' | 'trust' | 'certificate' | 'key';
export type KeyFormat = 'pkcs8' | 'pkcs1';

/** What each format can hold; the first is the default. */
export const CONTENTS = {
  pem: ['certificate', 'key', 'trust'],
  combined: ['identity'],
  der: ['certificate', 'key'],
  pkcs12: ['identity', 'trust'],
  jks: ['identity', 'trust'],
} as const satisfies Record<OutputFormat, readonly OutputContent[]>;

/** Whether such a file has the private key in it. */
export const holdsKey = (content: OutputContent): boolean => content === 'identity' || content === 'key';

export const OUTPUT_FORMATS = Object.keys(CONTENTS) as [OutputFormat, ...OutputFormat[]];

/** Formats that a password opens. */
export const isStore = (format: OutputFormat): format is 'pkcs12' | 'jks' =>
  format === 'pkcs12' || format === 'jks';

/** One more file that is made from the same material. */
export interface OutputSpec {
  readonly format: OutputFormat;
  readonly content: OutputContent;
  readonly keyFormat: KeyFormat;
  /** Name of the entry; of trusted certificates the beginning of each name. */
  readonly alias: string;
}

/** A Leaf's certificate and key, and the CAs to trust; a bundle has the last alone. */
export interface OutputMaterial {
  readonly identity?: { readonly chain: readonly [Certificate, ...Certificate[]]; readonly key: PrivateKey };
  readonly anchors: readonly Certificate[];
}

const STORES = { pkcs12: writePkcs12, jks: writeJks } as const satisfies Record<string, StoreWriter>;

const pemOf = (certificates: readonly Certificate[]): string => certificates.map(({ pem }) => pem).join('');

/** PKCS#1 is RSA's own; its counterpart for elliptic curves is SEC 1 (RFC 5915). */
const TRADITIONAL = { rsa: ['pkcs1', 'RSA PRIVATE KEY'], ec: ['sec1', 'EC PRIVATE KEY'] } as const;

const keyIn = (
  { key }: PrivateKey,
  format: KeyFormat,
): { readonly label: string; readonly der: Uint8Array } => {
  if (format === 'pkcs8') return { label: 'PRIVATE KEY', der: key.export({ type: 'pkcs8', format: 'der' }) };
  const [type, label] = TRADITIONAL[key.asymmetricKeyType === 'rsa' ? 'rsa' : 'ec'];
  return { label, der: key.export({ type, format: 'der' }) };
};

/** By its fingerprint: a CA keeps its name in the store when others come and go. */
const aliasOf = (alias: string, { fingerprint }: Certificate): string =>
  `${alias}-${fingerprint.slice(0, 16)}`;

/** The same bytes for the same material, spec and password. */
export const outputBytes = (spec: OutputSpec, material: OutputMaterial, password: Password): Uint8Array => {
  const { format, content, keyFormat, alias } = spec;
  if (content === 'trust') {
    if (!isStore(format)) return bytesOf(pemOf(material.anchors));
    const trusted = material.anchors.map((certificate) => ({
      alias: aliasOf(alias, certificate),
      certificate,
    }));
    return STORES[format]({ trusted }, password);
  }
  const { identity } = material;
  if (identity === undefined) throw new TypeError('a bundle holds neither a key nor a leaf');
  if (isStore(format)) {
    const store: StoreContent = { identity: { alias, ...identity } };
    return STORES[format](store, password);
  }
  const key = keyIn(identity.key, keyFormat);
  if (format === 'der') return content === 'key' ? key.der : identity.chain[0].der;
  const keyPem = encodePem(key.label, key.der);
  if (content === 'key') return bytesOf(keyPem);
  // Certificate, chain, key: the order that HAProxy's manual gives for `crt`.
  return bytesOf(`${pemOf(identity.chain)}${content === 'identity' ? keyPem : ''}`);
};
