import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import { parseBundle } from '@handover/material';
import { type Identity, openIdentity, openTrust, type Trust } from '@handover/runtime';
import { KubeError } from './error.ts';
import type { PemSource, TlsConfig } from './kubeconfig/config.ts';
import { type OnReload, reportReloads } from './reload-report.ts';

export interface TlsGeneration {
  readonly number: number;
  readonly context: SecureContext;
}

interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

async function textOf(source: PemSource): Promise<string> {
  if ('pem' in source) return source.pem.reveal();
  try {
    return await readFile(source.file, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === undefined) throw cause;
    const message = `cannot read ${source.file} (${code}); check the path and its mode`;
    throw new KubeError('FILE_UNREADABLE', message, { path: source.file, retry: 'later', cause });
  }
}

/** When certificate and key are both files, they are followed together. Otherwise they are read once. */
async function identityOf(
  { cert, key }: TlsConfig,
  signal: AbortSignal,
): Promise<Identity | ClientCertificate | undefined> {
  if (cert === undefined || key === undefined) return undefined;
  if ('file' in cert && 'file' in key) return openIdentity({ cert: cert.file, key: key.file }, { signal });
  return { cert: await textOf(cert), key: await textOf(key) };
}

const shown = (identity: Identity | ClientCertificate | undefined): Partial<ClientCertificate> => {
  if (identity === undefined) return {};
  if (!('tlsOptions' in identity)) return identity;
  const { cert, key } = identity.tlsOptions();
  return { ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key: key.toString() }) };
};

/** CA, client certificate and key in use, from files or data. Each change makes a new generation. */
export class LiveTls {
  readonly #ca: Trust | string | undefined;
  readonly #identity: Identity | ClientCertificate | undefined;
  readonly #swapped: () => void;
  #fromPlugin: ClientCertificate | undefined;
  #current: TlsGeneration;

  private constructor(
    ca: Trust | string | undefined,
    identity: Identity | ClientCertificate | undefined,
    swapped: () => void,
  ) {
    this.#ca = ca;
    this.#identity = identity;
    this.#swapped = swapped;
    this.#current = { number: 1, context: this.#make() };
    if (ca !== undefined && typeof ca !== 'string') ca.on('reloaded', () => this.#swap());
    if (identity !== undefined && 'tlsOptions' in identity) identity.on('reloaded', () => this.#swap());
  }

  static async open(
    tls: TlsConfig,
    signal: AbortSignal,
    swapped: () => void,
    onReload?: OnReload,
  ): Promise<LiveTls> {
    const { ca } = tls;
    const trust =
      ca === undefined || tls.verify === false
        ? undefined
        : 'file' in ca
          ? await openTrust(ca.file, { signal })
          : parseBundle(Buffer.from(ca.pem.reveal()), 'certificate-authority-data').pem;
    const identity = await identityOf(tls, signal);
    if (trust !== undefined && typeof trust !== 'string') reportReloads(trust, 'ca', onReload);
    if (identity !== undefined && 'tlsOptions' in identity) reportReloads(identity, 'identity', onReload);
    return new LiveTls(trust, identity, swapped);
  }

  get current(): TlsGeneration {
    return this.#current;
  }

  /** A certificate from an exec plugin replaces the one in the config. */
  show(certificate: ClientCertificate | undefined): void {
    if (certificate?.cert === this.#fromPlugin?.cert) return;
    this.#fromPlugin = certificate;
    this.#swap();
  }

  /** After an unknown authority: reads the CA file again. True when the material is newer than `failed`. */
  async refresh(failed: number): Promise<boolean> {
    if (this.#current.number === failed && this.#ca !== undefined && typeof this.#ca !== 'string') {
      await this.#ca.reload();
    }
    return this.#current.number > failed;
  }

  #swap(): void {
    this.#current = { number: this.#current.number + 1, context: this.#make() };
    this.#swapped();
  }

  #make(): SecureContext {
    const ca = typeof this.#ca === 'string' ? this.#ca : this.#ca?.pem;
    const material = {
      ...(ca === undefined || ca === '' ? {} : { ca }),
      ...(this.#fromPlugin ?? shown(this.#identity)),
    };
    try {
      return createSecureContext(material);
    } catch (cause) {
      // OpenSSL's errors are plain. A TypeError is a bug.
      if (cause instanceof TypeError) throw cause;
      throw new KubeError(
        'KUBE_CLIENT_CERTIFICATE_REFUSED',
        'OpenSSL refuses the client certificate or its key; check that they belong together',
        { cause },
      );
    }
  }
}
