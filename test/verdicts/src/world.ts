import { randomBytes } from 'node:crypto';
import {
  generateKey,
  issueCa,
  issueCross,
  issueLeaf,
  type KeyAlgorithm,
  type KeyPair,
  localSigner,
  type Signer,
} from '@handover/core';
import { type Certificate, day, hour, type Instant, instant, parseCertificate } from '@handover/material';

/** The keys of CA generations 1, 2 and 3 and of their leaves. */
export const KEYS = {
  ECDSA: ['ECDSA-P256', 'ECDSA-P256', 'ECDSA-P256'],
  RSA: ['RSA-2048', 'RSA-2048', 'RSA-2048'],
  'RSA, then ECDSA': ['RSA-2048', 'ECDSA-P384', 'ECDSA-P256'],
} as const satisfies Record<string, readonly [KeyAlgorithm, KeyAlgorithm, KeyAlgorithm]>;

/**
 * What a case may name. `†` expired yesterday as Handover issues: everything it signed ended with it. `‡` has the name and the key
 * of the plain one and expired yesterday: the same CA reissued, which Handover never does and other issuers do.
 */
export type Token =
  | '1'
  | '2'
  | '3'
  | '1†'
  | '1‡'
  | '2‡'
  | 'leaf 1'
  | 'leaf 2'
  | 'leaf 3'
  | 'leaf 1†'
  | 'leaf 2†'
  | 'early leaf 2'
  | 'X21'
  | 'X32'
  | 'X21†'
  | 'X32†'
  | 'X2(1†)'
  | 'stranger'
  | 'leaf of a stranger';

export interface World {
  readonly certificates: Readonly<Record<Token, Certificate>>;
  /** By the leaf's token. */
  readonly leafKeys: ReadonlyMap<Token, KeyPair>;
}

interface Ca {
  readonly certificate: Certificate;
  readonly signer: Signer;
}

/** One authority of three generations and all that is left of it, issued by the code that `handover run` issues with. */
export async function makeWorld(algorithms: (typeof KEYS)[keyof typeof KEYS], now: Instant): Promise<World> {
  const [first, second, third] = algorithms;
  const start = instant(now - 30 * day);
  const end = instant(now + 365 * day);
  const yesterday = instant(now - day);
  const serial = (): Uint8Array => randomBytes(16);
  const newSigner = (algorithm: KeyAlgorithm): Signer => localSigner(generateKey(algorithm).privateKey);
  const ca = async (
    name: string,
    generation: number,
    signer: Signer,
    notAfter: Instant = end,
  ): Promise<Ca> => ({
    signer,
    certificate: parseCertificate(
      await issueCa({ name, generation, signer, serial: serial(), notBefore: start, notAfter }),
    ),
  });
  const cross = async (subject: Ca, issuer: Ca, notAfter: Instant = end): Promise<Certificate> =>
    parseCertificate(
      await issueCross({
        subject: subject.certificate,
        issuer: issuer.certificate,
        signer: issuer.signer,
        serial: serial(),
        notBefore: start,
        notAfter,
      }),
    );
  const leafKeys = new Map<Token, KeyPair>();
  const leaf = async (
    token: Token,
    issuer: Ca,
    algorithm: KeyAlgorithm,
    dates: Dates = {},
  ): Promise<Certificate> => {
    const key = generateKey(algorithm);
    leafKeys.set(token, key);
    return parseCertificate(
      await issueLeaf({
        issuer: issuer.certificate,
        signer: issuer.signer,
        publicKey: key.publicKey,
        serial: serial(),
        subject: { commonName: 'peer' },
        dnsNames: ['peer.mesh.svc'],
        ipAddresses: [],
        uris: [],
        usages: ['server', 'client'],
        notBefore: dates.notBefore ?? instant(now - 2 * day),
        notAfter: dates.notAfter ?? instant(now + 90 * day),
      }),
    );
  };
  const one = await ca('mesh', 1, newSigner(first));
  const two = await ca('mesh', 2, newSigner(second));
  const three = await ca('mesh', 3, newSigner(third));
  const spent = await ca('mesh', 1, newSigner(first), yesterday);
  const stranger = await ca('mesh', 2, newSigner(second));
  const certificates = {
    '1': one.certificate,
    '2': two.certificate,
    '3': three.certificate,
    '1†': spent.certificate,
    '1‡': (await ca('mesh', 1, one.signer, yesterday)).certificate,
    '2‡': (await ca('mesh', 2, two.signer, yesterday)).certificate,
    'leaf 1': await leaf('leaf 1', one, first),
    'leaf 2': await leaf('leaf 2', two, second),
    'leaf 3': await leaf('leaf 3', three, third),
    'leaf 1†': await leaf('leaf 1†', spent, first),
    'leaf 2†': await leaf('leaf 2†', two, second, { notAfter: instant(now - hour) }),
    'early leaf 2': await leaf('early leaf 2', two, second, { notBefore: instant(now + day) }),
    X21: await cross(two, one),
    X32: await cross(three, two),
    'X21†': await cross(two, one, yesterday),
    'X32†': await cross(three, two, yesterday),
    'X2(1†)': await cross(two, spent),
    stranger: stranger.certificate,
    'leaf of a stranger': await leaf('leaf of a stranger', stranger, second),
  } as const satisfies Record<Token, Certificate>;
  return { certificates, leafKeys };
}

interface Dates {
  readonly notBefore?: Instant;
  readonly notAfter?: Instant;
}
