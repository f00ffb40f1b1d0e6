import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { issueCa, issueCross, issueLeaf, localSigner } from '@handover/core';
import {
  after,
  type Certificate,
  HandoverError,
  hour,
  type Instant,
  type PrivateKey,
  parseCertificate,
  verifyChain,
} from '@handover/material';
import type { SigningCa } from '../snapshot/keyring.ts';

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const serial = (): Uint8Array => randomBytes(16);

/**
 * Why a CA that exists cannot be taken over with its key; undefined: it can. What it would have to sign is signed, with keys that are
 * thrown away, and verified as peers would: a leaf, and the cross-certificate of its successor with a leaf of that one.
 */
export const whyItCannotSign = async (
  ca: Certificate,
  key: PrivateKey,
  now: Instant,
): Promise<string | undefined> => {
  const dates = { notBefore: after(now, -hour), notAfter: ca.notAfter };
  const leafOf = async ({ certificate: issuer, signer }: SigningCa): Promise<Certificate> =>
    parseCertificate(
      await issueLeaf({
        ...dates,
        issuer,
        signer,
        publicKey: newKey().publicKey,
        serial: serial(),
        subject: { commonName: 'trial' },
        dnsNames: [],
        ipAddresses: [],
        uris: [],
        usages: ['server', 'client'],
      }),
    );
  try {
    const own = { certificate: ca, signer: localSigner(key.key) };
    const signer = localSigner(newKey().privateKey);
    const asked = { ...dates, name: 'trial', generation: 1, signer, serial: serial() };
    const next = { certificate: parseCertificate(await issueCa(asked)), signer };
    const cross = parseCertificate(
      await issueCross({
        ...dates,
        subject: next.certificate,
        issuer: ca,
        signer: own.signer,
        serial: serial(),
      }),
    );
    const chains = {
      'a leaf of it': [await leafOf(own)],
      'a leaf of its successor': [await leafOf(next), cross],
    };
    for (const [what, chain] of Object.entries(chains)) {
      for (const purpose of ['server', 'client'] as const) {
        const verdict = verifyChain({ chain, anchors: [ca], at: now, purpose });
        if (!verdict.ok) return `${what} would be refused: ${verdict.reason}`;
      }
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    return error.message;
  }
};
