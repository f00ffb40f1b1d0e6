import { issueCa, issueLeaf, type KeySource, localSigner } from '@handover/core';
import {
  after,
  encodePem,
  hour,
  type Instant,
  minute,
  PrivateKey,
  parseCertificate,
} from '@handover/material';
import { entryOf, type IssuanceLog, objectOf } from '../ledger/issued-entry.ts';
import type { AuthorityId, AuthorityRecord } from '../snapshot/home.ts';
import type { IssuedLeaf, Keyring, SigningCa } from '../snapshot/keyring.ts';
import type { ClientCertificate } from './handshake.ts';

export interface CanaryTools {
  readonly keyring: Keyring;
  /** For the keys of canaries, and of the control's CA. */
  readonly keys: KeySource;
  readonly random: (bytes: number) => Uint8Array;
  /** The log that records canaries. */
  readonly log: IssuanceLog;
  /** Whether this process may issue now; a command that only reads may not. Default: always. */
  readonly mayIssue?: (() => boolean) | undefined;
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

  /** Whether a canary can be had at all now. */
  get mayIssue(): boolean {
    return this.#tools.mayIssue?.() ?? true;
  }

  /** A canary of one generation; undefined: that generation cannot sign, or nothing may be issued here. Fails when the log cannot be written. */
  async of(
    authority: AuthorityId,
    { state, certificates, keys }: AuthorityRecord,
    number: number,
    now: Instant,
  ): Promise<ClientCertificate | undefined> {
    if (!this.mayIssue) return undefined;
    const anchor = state.generations.find((generation) => generation.number === number)?.anchors[0];
    const ca = certificates.get(anchor?.fingerprint ?? '');
    const key = keys.get(number);
    if (ca === undefined || key === undefined) return undefined;
    const kept = this.#kept.get(ca.fingerprint);
    if (kept !== undefined && now >= kept.at && now < after(kept.at, USED_MS)) return kept.canary;
    const signer = await this.#tools.keyring.open(key);
    const made = await this.#issue({ certificate: ca, signer }, now);
    await this.#tools.log.issued(
      entryOf(made.certificate, now, {
        kind: 'canary',
        authority,
        generation: number,
        for: objectOf('Authority', authority, undefined),
        why: `servers are asked whether they trust CA generation ${number}`,
      }),
    );
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    const canary = clientOf(made);
    this.#kept.set(ca.fingerprint, { canary, at: now });
    return canary;
  }

  /**
   * A canary of a CA that no server can trust, and whose key no keyring holds: a port that accepts it accepts every client.
   * Not logged.
   */
  async control(now: Instant): Promise<ClientCertificate> {
    const signer = localSigner((await this.#tools.keys('ECDSA-P256')).privateKey);
    const der = await issueCa({
      name: 'handover control',
      generation: 1,
      signer,
      serial: this.#tools.random(16),
      notBefore: after(now, -hour),
      notAfter: after(now, hour),
    });
    return clientOf(await this.#issue({ certificate: parseCertificate(der), signer }, now));
  }

  /**
   * A client certificate of one CA alone, without a cross-certificate: that would be accepted through the old CA. No SAN, ten
   * minutes at most.
   */
  async #issue({ certificate: issuer, signer }: SigningCa, now: Instant): Promise<IssuedLeaf> {
    const key = await this.#tools.keys('ECDSA-P256');
    const der = await issueLeaf({
      issuer,
      signer,
      publicKey: key.publicKey,
      serial: this.#tools.random(16),
      subject: { commonName: 'handover canary' },
      dnsNames: [],
      ipAddresses: [],
      uris: [],
      usages: ['client'],
      notBefore: after(now, -5 * minute),
      notAfter: after(now, 5 * minute),
    });
    return { certificate: parseCertificate(der), key: PrivateKey.of(key.privateKey) };
  }
}

const clientOf = ({ certificate, key }: IssuedLeaf): ClientCertificate => ({
  cert: encodePem('CERTIFICATE', certificate.der),
  key: key.exportPem(),
});
