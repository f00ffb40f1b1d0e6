import { randomBytes } from 'node:crypto';
import type { Server } from 'node:https';
import { join } from 'node:path';
import { generateKey, issueCa, issueLeaf, localSigner } from '@handover/core';
import {
  after,
  type Clock,
  day,
  encodePem,
  HandoverError,
  hour,
  type Instant,
  parseCertificate,
} from '@handover/material';
import { type Identity, openIdentity } from '@handover/runtime';

const LOOK_AGAIN_MS = 5_000;
/** A self-made certificate is replaced long before it expires. */
const LIFETIME = 7 * day;
const RENEW_MS = day;

interface Served {
  readonly cert: string;
  readonly key: string;
}

/** A self-made certificate, used while there is no other: it hides tokens from passive listeners, no more. */
const ownCertificate = async (now: Instant): Promise<Served> => {
  const dates = { notBefore: after(now, -hour), notAfter: after(now, LIFETIME) };
  const signer = localSigner(generateKey('ECDSA-P256').privateKey);
  const leaf = generateKey('ECDSA-P256');
  const issuer = parseCertificate(
    await issueCa({ name: 'handover-metrics', generation: 1, signer, serial: randomBytes(16), ...dates }),
  );
  const der = await issueLeaf({
    issuer,
    signer,
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
  readonly clock: Clock;
  readonly onProblem: (error: HandoverError) => void;
  readonly signal: AbortSignal;
}

/**
 * Gives a server its certificate. While the files do not exist yet, it serves a self-made one, which verifying clients refuse before
 * they send a token.
 */
export async function certificateFor(options: CertificateOptions): Promise<(server: Server) => void> {
  const { folder, clock, onProblem, signal } = options;
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
  if (first !== undefined) return (server) => first.serve(server);
  const own = await ownCertificate(clock.now());
  return (server) => {
    let isOwn = true;
    const serve = (served: Served): void => {
      if (isOwn) server.setSecureContext({ ...served, minVersion: 'TLSv1.2' });
    };
    serve(own);
    const timer = clock.every(RENEW_MS, () => void ownCertificate(clock.now()).then(serve)).unref();
    server.once('close', () => timer.cancel());
    if (folder === undefined) return;
    void (async () => {
      for (;;) {
        // Keeps no process alive that is about to end.
        await new Promise<void>((tick) => void clock.after(LOOK_AGAIN_MS, tick).unref());
        if (signal.aborted) return;
        const identity = await open();
        if (identity === undefined) continue;
        timer.cancel();
        isOwn = false;
        identity.serve(server);
        return;
      }
    })().catch(() => {
      // aborted
    });
  };
}
