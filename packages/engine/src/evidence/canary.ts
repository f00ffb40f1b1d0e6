import { issueCa, issueLeaf, type KeySource } from '@handover/core';
import {
  after,
  type Certificate,
  encodePem,
  hour,
  type Instant,
  minute,
  PrivateKey,
  parseCertificate,
} from '@handover/material';
import { entryOf, objectOf } from '../ledger/entry.ts';
import type { IssuanceLog } from '../ledger/issued-entry.ts';
import type { AuthorityId, AuthorityRecord } from '../look/home.ts';
import type { ClientCertificate } from './handshake.ts';

export interface CanaryTools {
  readonly keys: KeySource;
  readonly random: (bytes: number) => Uint8Array;
  /** The log that records canaries. */
  readonly log?: IssuanceLog | undefined;
}

/** A canary expires after five minutes and is used for four: in that time the log gets one line per CA. */
const USED_MS = 4 * minute;
const MOST_KEPT = 1_000;

interface Kept {
  readonly canary: ClientCertificate;
  readonly at: Instant;
}

/** Client certificates that show whether a server trusts a CA. */
export class Canaries {
  readonly #tools: CanaryTools;
  readonly #kept = new Map<string, Kept>();

  constructor(tools: CanaryTools) {
    this.#tools = tools;
  }

  /** A canary of one generation; undefined: that generation cannot sign. Fails when the log cannot be written. */
  async of(
    authority: AuthorityId,
    { state, certificates, keys }: AuthorityRecord,
    number: number,
    now: Instant,
  ): Promise<ClientCertificate | undefined> {
    const anchor = state.generations.find((generation) => generation.number === number)?.anchors[0];
    const ca = certificates.get(anchor?.fingerprint ?? '');
    const key = keys.get(number);
    if (ca === undefined || key === undefined) return undefined;
    const kept = this.#kept.get(ca.fingerprint);
    if (kept !== undefined && now >= kept.at && now < after(kept.at, USED_MS)) return kept.canary;
    const { certificate, client } = await canaryOf(ca, key, this.#tools, now);
    await this.#tools.log?.issued(
      entryOf(certificate, now, {
        kind: 'canary',
        authority,
        generation: number,
        for: objectOf('Authority', authority, undefined),
        why: `servers are asked whether they trust CA generation ${number}`,
      }),
    );
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    this.#kept.set(ca.fingerprint, { canary: client, at: now });
    return client;
  }
}

/** A client certificate without the cross-certificate, which a server would accept through the old CA. No SAN, ten minutes at most. */
const canaryOf = async (
  ca: Certificate,
  caKey: PrivateKey,
  { keys, random }: CanaryTools,
  now: Instant,
): Promise<{ readonly certificate: Certificate; readonly client: ClientCertificate }> => {
  const key = await keys('ECDSA-P256');
  const der = issueLeaf({
    issuer: ca,
    issuerKey: caKey.key,
    publicKey: key.publicKey,
    serial: random(16),
    subject: { commonName: 'handover canary' },
    dnsNames: [],
    ipAddresses: [],
    uris: [],
    usages: ['client'],
    notBefore: after(now, -5 * minute),
    notAfter: after(now, 5 * minute),
  });
  return {
    certificate: parseCertificate(der),
    client: { cert: encodePem('CERTIFICATE', der), key: PrivateKey.of(key.privateKey).exportPem() },
  };
};

/** The same from a throw-away CA that no server trusts: a port that accepts it accepts any client. Not logged. */
export const controlOf = async (tools: CanaryTools, now: Instant): Promise<ClientCertificate> => {
  const key = await tools.keys('ECDSA-P256');
  const ca = issueCa({
    name: 'handover control',
    generation: 1,
    key,
    serial: tools.random(16),
    notBefore: after(now, -hour),
    notAfter: after(now, hour),
  });
  return (await canaryOf(parseCertificate(ca), PrivateKey.of(key.privateKey), tools, now)).client;
};
