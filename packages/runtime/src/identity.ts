import { resolve } from 'node:path';
import type { Server } from 'node:tls';
import { Follower } from './follower.ts';
import { HotClient } from './hot-client.ts';
import { type IdentityLabel, type IdentityMaterial, readIdentity } from './identity-material.ts';
import { type FollowOptions, resolveFollowOptions } from './options.ts';
import { type ServeOptions, serve } from './serve.ts';
import { leafStatus, type SourceStatus } from './status.ts';

const MAX_IDENTITY_BYTES = 4 * 1024 * 1024;

/** Paths. All three are read from one generation when they lie in one volume. */
export interface IdentityFiles {
  /** Leaf first, then whatever completes its chain. */
  readonly cert: string;
  readonly key: string;
  /** Who is trusted: servers when this connects, clients when it serves. Default: the roots that Node carries. */
  readonly ca?: string;
}

/** A certificate with its key, and perhaps a bundle, that follow their files. */
export class Identity extends HotClient<IdentityLabel, IdentityMaterial> {
  readonly #follower: Follower<IdentityLabel, IdentityMaterial>;

  /** @internal use {@link openIdentity} */
  constructor(follower: Follower<IdentityLabel, IdentityMaterial>) {
    super(follower);
    this.#follower = follower;
  }

  /** Fingerprint of the leaf in use, then the bundle's hash. */
  get hash(): string {
    return this.#follower.loaded.value.hash;
  }

  /** The certificate chain in use. */
  get pem(): string {
    return this.#follower.loaded.value.pems.cert ?? '';
  }

  /**
   * Certificate, client CA and ticket keys of a tls, https or http2 server follow the files from here on, until it
   * closes. `requestCert` and `rejectUnauthorized` are the server's own and stay as they are.
   */
  serve<S extends Server>(server: S, options: ServeOptions = {}): S {
    serve(this.#follower, server, options);
    return server;
  }

  override status(): SourceStatus {
    const { bundle, hash, leaf } = this.#follower.loaded.value;
    return {
      kind: 'identity',
      ...this.commonStatus(),
      hash,
      ...(bundle === undefined ? {} : { anchors: bundle.certificates.map(({ fingerprint }) => fingerprint) }),
      leaf: leafStatus(leaf),
    };
  }
}

/** Reads a certificate and its key and follows them. Throws HandoverError, with the path, when the first load fails. */
export async function openIdentity(files: IdentityFiles, options: FollowOptions = {}): Promise<Identity> {
  const paths = {
    cert: resolve(files.cert),
    key: resolve(files.key),
    ...(files.ca === undefined ? {} : { ca: resolve(files.ca) }),
  };
  const follower = new Follower<IdentityLabel, IdentityMaterial>({
    files: paths as Record<IdentityLabel, string>,
    maxBytes: MAX_IDENTITY_BYTES,
    load: (contents, now) => readIdentity(paths, contents, now),
    options: resolveFollowOptions(options),
  });
  await follower.start();
  return new Identity(follower);
}
