import { generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto';
import { type Certificate, parseCertificate } from '../src/index.ts';
import { bits, bool, ia5, int, octets, oid, printable, seq, set, time, tlv, utf8 } from './der-writer.ts';

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export const p256 = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'P-256' });
export const p384 = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'P-384' });
const made = new Map<number, KeyPair>();
/** The same one each time: it takes up to a second to make. */
export const rsa = (modulusLength = 2048): KeyPair => {
  const key = made.get(modulusLength) ?? generateKeyPairSync('rsa', { modulusLength });
  made.set(modulusLength, key);
  return key;
};

/** 2026-01-01T00:00:00Z: the present of the tests. */
export const NOW = Date.UTC(2026, 0, 1);
export const DAY = 86_400_000;

const USAGE_BITS: Readonly<Record<string, number>> = {
  digitalSignature: 0,
  nonRepudiation: 1,
  keyEncipherment: 2,
  dataEncipherment: 3,
  keyAgreement: 4,
  keyCertSign: 5,
  cRLSign: 6,
};
const EKU: Readonly<Record<string, string>> = {
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  codeSigning: '1.3.6.1.5.5.7.3.3',
  any: '2.5.29.37.0',
};

export interface Spec {
  /** Common name, or the whole Name as DER. */
  readonly subject: string | Uint8Array;
  readonly issuer?: Issued | undefined;
  /** Overrides the issuer's name. */
  readonly issuerName?: string | undefined;
  readonly key?: KeyPair | undefined;
  readonly serial?: number | bigint | undefined;
  readonly version?: 1 | 2 | 3 | undefined;
  readonly notBefore?: number | undefined;
  readonly notAfter?: number | undefined;
  /** undefined: no basicConstraints. */
  readonly ca?: boolean | undefined;
  readonly pathLength?: number | undefined;
  readonly usages?: readonly string[] | undefined;
  readonly eku?: readonly string[] | undefined;
  /** The true identifier unless it says otherwise. */
  readonly ski?: 'none' | Uint8Array | undefined;
  readonly aki?: 'none' | 'with-serial' | 'wrong-serial' | Uint8Array | undefined;
  readonly dns?: readonly string[] | undefined;
  readonly ip?: readonly (readonly number[])[] | undefined;
  readonly uri?: readonly string[] | undefined;
  readonly email?: readonly string[] | undefined;
  readonly netscape?: number | undefined;
  readonly constraints?:
    | { readonly permitted?: readonly Buffer[]; readonly excluded?: readonly Buffer[] }
    | undefined;
  readonly extra?: readonly {
    readonly oid: string;
    readonly critical?: boolean;
    readonly value: Uint8Array;
  }[];
  readonly digest?: 'sha256' | 'sha1' | 'sha384' | undefined;
  readonly forged?: boolean | undefined;
}

export interface Issued {
  readonly certificate: Certificate;
  readonly key: KeyPair;
  readonly name: Uint8Array;
  readonly ski: Uint8Array;
  readonly serial: bigint;
  readonly issuerName: Uint8Array;
}

export const nameOf = (commonName: string, string = utf8): Buffer =>
  seq(set(seq(oid('2.5.4.3'), string(commonName))));
export const printableName = (commonName: string): Buffer => nameOf(commonName, printable);

/** GeneralName in the form that subject alternative names and name constraints share. */
export const general = {
  email: (text: string): Buffer => ia5(text, 0x81),
  dns: (text: string): Buffer => ia5(text, 0x82),
  uri: (text: string): Buffer => ia5(text, 0x86),
  ip: (...octet: readonly number[]): Buffer => tlv(0x87, Buffer.from(octet)),
  directory: (name: Uint8Array): Buffer => tlv(0xa4, name),
};

const spki = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });
/** A key identifier of 20 octets; which digest makes it is the CA's own affair. */
const keyId = (key: KeyObject): Buffer =>
  Buffer.from(hash('sha256', spki(key), 'hex'), 'hex').subarray(0, 20);

const algorithmOf = (key: KeyObject, digest: 'sha256' | 'sha1' | 'sha384'): Buffer => {
  if (key.asymmetricKeyType === 'rsa') {
    const arc = { sha1: 5, sha256: 11, sha384: 12 }[digest];
    return seq(oid(`1.2.840.113549.1.1.${arc}`), Buffer.from([0x05, 0x00]));
  }
  return seq(
    oid(digest === 'sha1' ? '1.2.840.10045.4.1' : `1.2.840.10045.4.3.${digest === 'sha256' ? 2 : 3}`),
  );
};

const extension = (id: string, critical: boolean, value: Uint8Array): Buffer =>
  critical ? seq(oid(id), bool(true), octets(value)) : seq(oid(id), octets(value));

const usageBits = (usages: readonly string[]): Buffer => {
  let octet = 0;
  for (const usage of usages) octet |= 0x80 >> (USAGE_BITS[usage] ?? 0);
  let unused = 0;
  while (unused < 7 && ((octet >> unused) & 1) === 0) unused++;
  return bits(Buffer.from([octet]), unused);
};

let counter = 1n;

export function issue(spec: Spec): Issued {
  const key = spec.key ?? p256();
  const { issuer } = spec;
  const signer = (issuer?.key ?? key).privateKey;
  const name = typeof spec.subject === 'string' ? nameOf(spec.subject) : spec.subject;
  const issuerName = spec.issuerName === undefined ? (issuer?.name ?? name) : nameOf(spec.issuerName);
  const serial = BigInt(spec.serial ?? counter++);
  const ski = spec.ski instanceof Uint8Array ? spec.ski : keyId(key.publicKey);
  const list: Buffer[] = [];
  if (spec.ca !== undefined) {
    const body = [spec.ca ? bool(true) : Buffer.alloc(0)];
    if (spec.pathLength !== undefined) body.push(int(spec.pathLength));
    list.push(extension('2.5.29.19', true, seq(...body)));
  }
  if (spec.usages !== undefined) list.push(extension('2.5.29.15', true, usageBits(spec.usages)));
  if (spec.eku !== undefined) {
    list.push(extension('2.5.29.37', false, seq(...spec.eku.map((usage) => oid(EKU[usage] ?? usage)))));
  }
  if (spec.ski !== 'none') list.push(extension('2.5.29.14', false, octets(ski)));
  if (spec.aki !== 'none') {
    const id = spec.aki instanceof Uint8Array ? spec.aki : (issuer?.ski ?? ski);
    const body = [tlv(0x80, id)];
    if (spec.aki === 'with-serial' || spec.aki === 'wrong-serial') {
      body.push(tlv(0xa1, general.directory(issuer?.issuerName ?? issuerName)));
      const number = int((issuer?.serial ?? serial) + (spec.aki === 'wrong-serial' ? 1n : 0n));
      body.push(tlv(0x82, number.subarray(2)));
    }
    list.push(extension('2.5.29.35', false, seq(...body)));
  }
  const names = [
    ...(spec.dns ?? []).map(general.dns),
    ...(spec.ip ?? []).map((octet) => general.ip(...octet)),
    ...(spec.uri ?? []).map(general.uri),
    ...(spec.email ?? []).map(general.email),
  ];
  if (names.length > 0) list.push(extension('2.5.29.17', false, seq(...names)));
  if (spec.netscape !== undefined) {
    list.push(extension('2.16.840.1.113730.1.1', false, bits(Buffer.from([spec.netscape]))));
  }
  if (spec.constraints !== undefined) {
    const subtrees = (tag: number, bases: readonly Buffer[] | undefined): Buffer =>
      bases === undefined ? Buffer.alloc(0) : tlv(tag, ...bases.map((base) => seq(base)));
    const { permitted, excluded } = spec.constraints;
    list.push(extension('2.5.29.30', true, seq(subtrees(0xa0, permitted), subtrees(0xa1, excluded))));
  }
  for (const { oid: id, critical, value } of spec.extra ?? [])
    list.push(extension(id, critical ?? false, value));

  const version = spec.version ?? 3;
  const digest = spec.digest ?? 'sha256';
  const algorithm = algorithmOf(signer, digest);
  const tbs = seq(
    version === 1 ? Buffer.alloc(0) : tlv(0xa0, int(version - 1)),
    int(serial),
    algorithm,
    issuerName,
    seq(time(spec.notBefore ?? NOW - DAY), time(spec.notAfter ?? NOW + 365 * DAY)),
    name,
    spki(key.publicKey),
    version === 3 && list.length > 0 ? tlv(0xa3, seq(...list)) : Buffer.alloc(0),
  );
  const signature = sign(digest, spec.forged ? Buffer.concat([tbs, Buffer.from([0])]) : tbs, signer);
  const certificate = parseCertificate(seq(tbs, algorithm, bits(signature)));
  return { certificate, key, name, ski, serial, issuerName };
}

/** A CA as Handover makes them. */
export const authority = (subject: string, more: Partial<Spec> = {}): Issued =>
  issue({ subject, ca: true, usages: ['keyCertSign', 'cRLSign'], ...more });

/** A leaf as Handover makes them. */
export const leafOf = (issuer: Issued, subject: string, more: Partial<Spec> = {}): Issued =>
  issue({
    subject,
    issuer,
    ca: false,
    usages: ['digitalSignature'],
    eku: ['serverAuth', 'clientAuth'],
    dns: [`${subject}.test`],
    ...more,
  });

/** `next` signed by `old`. */
export const crossSign = (next: Issued, old: Issued, more: Partial<Spec> = {}): Issued =>
  authority('', { subject: next.name, key: next.key, issuer: old, ...more });
