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
import { openIdentity, openTlsProfile } from '@handover/runtime';

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

/** Files that a server follows, and that may come after its start. */
export type Followable = 'certificate' | 'TLS profile';

export interface CertificateOptions {
  /** Folder with `tls.crt` and `tls.key`, reloaded when they change; undefined: a self-made certificate. */
  readonly folder: string | undefined;
  /** File of a TLS profile, followed too; undefined: TLS 1.2 and later. */
  readonly profile: string | undefined;
  readonly clock: Clock;
  readonly onProblem: (what: Followable, error: HandoverError) => void;
  readonly signal: AbortSignal;
}

/** Opens it, or says once why that cannot be done. */
const opener = <T>(
  what: Followable,
  open: (() => Promise<T>) | undefined,
  onProblem: CertificateOptions['onProblem'],
) => {
  let told = '';
  return async (): Promise<T | undefined> => {
    try {
      return await open?.();
    } catch (error) {
      if (!(error instanceof HandoverError)) throw error;
      if (error.message !== told) onProblem(what, error);
      told = error.message;
      return undefined;
    }
  };
};

/**
 * Gives a server its certificate and its TLS profile. While the certificate's files do not exist yet, it serves a self-made one, which
 * verifying clients refuse before they send a token.
 */
export async function certificateFor(options: CertificateOptions): Promise<(server: Server) => void> {
  const { folder, profile: file, clock, onProblem, signal } = options;
  const openFiles = opener(
    'certificate',
    folder === undefined
      ? undefined
      : () => openIdentity({ cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }, { signal }),
    onProblem,
  );
  const openProfile = opener(
    'TLS profile',
    file === undefined ? undefined : () => openTlsProfile(file, { signal }),
    onProblem,
  );
  let profile = await openProfile();
  let identity = await openFiles();
  let own = identity === undefined ? await ownCertificate(clock.now()) : undefined;
  return (server) => {
    const serveOwn = (): void => {
      if (own !== undefined)
        server.setSecureContext({ minVersion: 'TLSv1.2', ...profile?.tlsOptions(), ...own });
    };
    const serve = (): void => {
      if (identity === undefined) serveOwn();
      // A server keeps options of the context before it, such as the highest version of an earlier profile.
      else identity.serve(server, { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3', profile });
    };
    const followProfile = (): void => void profile?.on('reloaded', serveOwn);
    const renew = async (): Promise<void> => {
      const next = await ownCertificate(clock.now());
      if (own === undefined) return;
      own = next;
      serveOwn();
    };
    const renewal = own === undefined ? undefined : clock.every(RENEW_MS, () => void renew()).unref();
    server.once('close', () => renewal?.cancel());
    followProfile();
    serve();
    const isComplete = (): boolean =>
      (folder === undefined || identity !== undefined) && (file === undefined || profile !== undefined);
    const lookAgain = async (): Promise<void> => {
      const found = profile === undefined ? await openProfile() : undefined;
      // An identity takes its profile when it begins to serve: with a new profile another one takes over.
      const next = identity === undefined || found !== undefined ? await openFiles() : undefined;
      if (found !== undefined && identity !== undefined && next === undefined) return found.close();
      if (found === undefined && next === undefined) return;
      if (found !== undefined) {
        profile = found;
        followProfile();
      }
      if (next !== undefined) {
        identity?.close();
        identity = next;
        own = undefined;
        renewal?.cancel();
      }
      serve();
    };
    void (async () => {
      while (!isComplete()) {
        // Keeps no process alive that is about to end.
        await new Promise<void>((tick) => void clock.after(LOOK_AGAIN_MS, tick).unref());
        if (signal.aborted) return;
        await lookAgain();
      }
    })().catch(() => {
      // aborted
    });
  };
}
