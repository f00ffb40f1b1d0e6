import { randomBytes } from 'node:crypto';
import type { Server } from 'node:https';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { generateKey, issueCa, issueLeaf } from '@handover/core';
import { after, day, encodePem, HandoverError, hour, instant, parseCertificate } from '@handover/material';
import { type Identity, openIdentity } from '@handover/runtime';

const LOOK_AGAIN_MS = 5_000;
/** A self-made certificate is replaced long before it expires. */
const LIFETIME = 7 * day;
const RENEW_MS = day;

/** A self-made certificate, used while there is no other: it hides tokens from passive listeners, no more. */
const ownCertificate = (nowMs: number): { readonly cert: string; readonly key: string } => {
  const now = instant(nowMs);
  const dates = { notBefore: after(now, -hour), notAfter: after(now, LIFETIME) };
  const [ca, leaf] = [generateKey('ECDSA-P256'), generateKey('ECDSA-P256')];
  const issuer = parseCertificate(
    issueCa({ name: 'handover-metrics', generation: 1, key: ca, serial: randomBytes(16), ...dates }),
  );
  const der = issueLeaf({
    issuer,
    issuerKey: ca.privateKey,
    publicKey: leaf.publicKey,
    serial: randomBytes(16),
    subject: {},
    dnsNames: ['localhost'],
    ipAddresses: [],
    uris: [],
    usages: ['server'],
    ...dates,
  });
  return {
    cert: `${encodePem('CERTIFICATE', der)}${issuer.pem}`,
    key: leaf.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
};

export interface CertificateOptions {
  /** Folder with `tls.crt` and `tls.key`, reloaded when they change; undefined: a self-made certificate. */
  readonly folder: string | undefined;
  readonly now: () => number;
  readonly onProblem: (error: HandoverError) => void;
  readonly signal: AbortSignal;
}

/**
 * Gives a server its certificate. While the files do not exist yet, it serves a self-made one, which verifying clients refuse before
 * they send a token.
 */
export async function certificateFor(options: CertificateOptions): Promise<(server: Server) => void> {
  const { folder, now, onProblem, signal } = options;
  let told = '';
  const open = async (): Promise<Identity | undefined> => {
    if (folder === undefined) return undefined;
    try {
      return await openIdentity({ cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }, { signal });
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      if (error.message !== told) onProblem(error);
      told = error.message;
      return undefined;
    }
  };
  const first = await open();
  return (server) => {
    if (first !== undefined) {
      first.serve(server);
      return;
    }
    const renew = (): void => server.setSecureContext({ ...ownCertificate(now()), minVersion: 'TLSv1.2' });
    renew();
    const timer = setInterval(renew, RENEW_MS).unref();
    server.once('close', () => clearInterval(timer));
    if (folder === undefined) return;
    void (async () => {
      for (;;) {
        await pause(LOOK_AGAIN_MS, undefined, { signal, ref: false });
        const identity = await open();
        if (identity === undefined) continue;
        clearInterval(timer);
        identity.serve(server);
        return;
      }
    })().catch(() => {
      // aborted
    });
  };
}
