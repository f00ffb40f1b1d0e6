import { resolve } from 'node:path';
import type { Server } from 'node:tls';
import { mustBePath, mustBeTlsServer, mustKnowOptions } from './arguments.ts';
import { CONTEXT_OPTIONS } from './clients/client-source.ts';
import { follow } from './files/follower.ts';
import { HotClient } from './hot-client.ts';
import { type IdentityLabel, type IdentityMaterial, readIdentity } from './identity-material.ts';
import { refuseOn } from './only-node.ts';
import { type FollowOptions, resolveFollowOptions } from './options.ts';
import { type Beside, type ServeOptions, serve } from './servers/serve.ts';
import { BESIDE, leafStatus, type SourceStatus, type StatusSource } from './status/status.ts';
import { anchorsOf } from './trust.ts';

const MAX_IDENTITY_BYTES = 4 * 1024 * 1024;

/**
 * Paths of PEM files. Files of one Kubernetes volume are always read from the same version of that volume.
 *
 * @example
 * ```ts
 * import { type IdentityFiles, openIdentity } from '@handover/runtime';
 *
 * const files: IdentityFiles = { cert: '/etc/mesh/tls.crt', key: '/etc/mesh/tls.key' };
 * const { pem } = await openIdentity(files);
 * console.log(pem.split('\n', 1)[0]); // -----BEGIN CERTIFICATE-----
 * ```
 */
export interface IdentityFiles {
  /** The leaf certificate first, then the rest of its chain. */
  readonly cert: string;
  /** The leaf's private key, not encrypted. The same path as `cert` for one file with both, such as the `credentialBundlePath` of a Kubernetes pod certificate. */
  readonly key: string;
  /** The CA bundle: verifies servers when this program connects, and clients when it serves. Default: Node's own roots. */
  readonly ca?: string | undefined;
}

/**
 * A certificate, its key and an optional CA bundle that follow their files.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:https';
 * import type { Identity } from '@handover/runtime';
 *
 * const start = (own: Identity) =>
 *   own.serve(createServer((_, response) => response.end('hello'))).listen(8443);
 * start(identity);
 * ```
 */
export class Identity extends HotClient<IdentityLabel, IdentityMaterial> {
  readonly #served = new Set<Beside>();

  /** @internal what its servers use beside it */
  [BESIDE](): readonly StatusSource[] | undefined {
    const all = [...this.#served].map((beside) => beside());
    return all.some((sources) => sources === undefined) ? undefined : all.flatMap((sources) => sources ?? []);
  }

  /** Fingerprints of the certificate chain in use, then the hash of the CA bundle. */
  get hash(): string {
    return this.follower.loaded.value.hash;
  }

  /** The certificate chain in use. */
  get pem(): string {
    return this.follower.loaded.value.pems.cert ?? '';
  }

  /**
   * Makes the certificate, client CA and ticket keys of a tls, https or http2 server follow the files for as long as the
   * server listens. The server keeps its own `requestCert` and `rejectUnauthorized`.
   *
   * @example
   * ```ts
   * import { createServer } from 'node:https';
   *
   * const server = createServer({ requestCert: true }, (_, response) => response.end('hello'));
   * identity.serve(server, { profile }).listen(8443);
   * ```
   */
  serve<S extends Server>(server: S, options: ServeOptions = {}): S {
    refuseOn(['bun'], 'serve()', 'run the server on Node or Deno'); // its servers keep their first certificate
    mustBeTlsServer(server);
    mustKnowOptions(options, 'serve', ['profile', 'ca', ...CONTEXT_OPTIONS]);
    serve(this.follower, server, options, this.#served);
    return server;
  }

  override status(): SourceStatus {
    const { bundle, hash, leaf, behind } = this.follower.inUse.value;
    return {
      kind: 'identity',
      ...this.commonStatus(),
      hash,
      ...(bundle === undefined ? {} : { anchors: anchorsOf(bundle) }),
      leaf: leafStatus(leaf, behind),
    };
  }
}

/**
 * Reads a certificate and its key and follows their files. Throws `HandoverError` with the path when the first load fails.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:https';
 * import { openIdentity } from '@handover/runtime';
 *
 * const identity = await openIdentity({
 *   cert: '/etc/mesh/tls.crt',
 *   key: '/etc/mesh/tls.key',
 *   ca: '/etc/mesh/ca.crt',
 * });
 * const server = createServer({ requestCert: true }, (_, response) => response.end('hello'));
 * identity.serve(server).listen(8443);
 * ```
 */
export async function openIdentity(files: IdentityFiles, options: FollowOptions = {}): Promise<Identity> {
  const where = 'openIdentity';
  mustKnowOptions(files, where, ['cert', 'key', 'ca'], 'files');
  mustBePath(files.cert, where, 'files.cert');
  mustBePath(files.key, where, 'files.key');
  if (files.ca !== undefined) mustBePath(files.ca, where, 'files.ca');
  const paths = {
    cert: resolve(files.cert),
    key: resolve(files.key),
    ...(files.ca === undefined ? {} : { ca: resolve(files.ca) }),
  };
  const follower = await follow<IdentityLabel, IdentityMaterial>({
    files: paths as Record<IdentityLabel, string>,
    maxBytes: MAX_IDENTITY_BYTES,
    load: (contents, now) => readIdentity(paths, contents, now),
    validity: ({ leaf }) => leaf,
    options: resolveFollowOptions(options, where),
  });
  return new Identity(follower);
}
