import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { issueCa, issueCross, issueLeaf } from '@handover/core';
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

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const serial = (): Uint8Array => randomBytes(16);

/**
 * Why a CA that exists cannot be taken over with its key; undefined: it can. What it would have to sign is signed, with keys that are
 * thrown away, and verified as peers would: a leaf, and the cross-certificate of its successor with a leaf of that one.
 */
export const whyItCannotSign = (ca: Certificate, key: PrivateKey, now: Instant): string | undefined => {
  const dates = { notBefore: after(now, -hour), notAfter: ca.notAfter };
  const successor = newKey();
  const leafOf = (issuer: Certificate, issuerKey: PrivateKey['key']): Certificate =>
    parseCertificate(
      issueLeaf({
        ...dates,
        issuer,
        issuerKey,
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
    const asked = { ...dates, name: 'trial', generation: 1, key: successor, serial: serial() };
    const next = parseCertificate(issueCa(asked));
    const cross = parseCertificate(
      issueCross({ ...dates, subject: next, issuer: ca, issuerKey: key.key, serial: serial() }),
    );
    const chains = {
      'a leaf of it': [leafOf(ca, key.key)],
      'a leaf of its successor': [leafOf(next, successor.privateKey), cross],
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
