import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions, type Server } from 'node:tls';
import { HandoverError, instant, iso, parseCertificate } from '@handover/material';
import type { ContextOptions } from '../clients/client-source.ts';
import type { Follower } from '../files/follower.ts';
import type { IdentityLabel, IdentityMaterial } from '../identity-material.ts';
import { FrozenTrust } from '../status/frozen-trust.ts';
import {
  ageOf,
  type LeafStatus,
  leafStatus,
  type SourceStatus,
  type StatusSource,
} from '../status/status.ts';
import { warn } from '../warn.ts';
import { asLeaf, asSet, KnownTexts, partsOf } from './known-texts.ts';

/** The native half of a context, as `node:tls` keeps it. */
interface NativeContext {
  getCertificate?(): Buffer | undefined;
}

/** A name as a regular expression, and the native half of its context or the whole of it. */
type Entry = [RegExp, NativeContext | { readonly context: NativeContext }];

/** Members of a server that `node:tls` uses and does not declare. */
interface ServerInternals {
  addContext(hostname: string, context: SecureContextOptions | SecureContext): void;
  readonly requestCert?: boolean;
  readonly _contexts?: Entry[];
}

/** Whether a server checks the certificates of clients. */
export const verifiesClients = (server: Server): boolean =>
  (server as unknown as ServerInternals).requestCert !== false;

/** What makes contexts that look up their newest native half: `identity.secureContext()`, by that half. */
export const OWNERS = new WeakMap<object, StatusSource & { secureContext(): SecureContext }>();

const nativeOf = ([, context]: Entry): NativeContext =>
  'context' in context ? context.context : (context as NativeContext);

const leafIn = (der: Buffer): LeafStatus => {
  try {
    return leafStatus(parseCertificate(der));
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    // Without the issuer's key id no generation is known by it: the leaf counts as none, and a rotation waits.
    const { fingerprint256, validTo } = new X509Certificate(der);
    return {
      fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
      notAfter: iso(instant(Date.parse(validTo))),
    };
  }
};

type ServingFollower = Follower<IdentityLabel, IdentityMaterial>;

/** The contexts that a server keeps for host names (`addContext`). Those of the identity follow it; what the others show is said. */
export class ServerContexts {
  readonly #server: ServerInternals;
  readonly #follower: ServingFollower;
  readonly #settings: () => ContextOptions | undefined;
  readonly #leaves: KnownTexts;
  readonly #cas = new KnownTexts('', asSet);
  readonly #followed = new Map<Entry, SecureContextOptions>();
  /** What the other contexts show; undefined: that cannot be said. */
  readonly #others = new Map<Entry, readonly StatusSource[] | undefined>();

  constructor(server: Server, follower: ServingFollower, settings: () => ContextOptions | undefined) {
    this.#server = server as unknown as ServerInternals;
    this.#follower = follower;
    this.#settings = settings;
    this.#leaves = new KnownTexts(follower.path, asLeaf);
    this.#learn();
    for (const entry of this.#server._contexts ?? []) this.#take(entry, undefined);
    const { addContext } = this.#server;
    this.#server.addContext = (hostname, context) => {
      addContext.call(server, hostname, context);
      const entry = this.#server._contexts?.at(-1);
      if (entry !== undefined) this.#take(entry, 'context' in context ? undefined : { ...context });
    };
  }

  /** What contexts show that do not follow this identity; undefined: that cannot be said. */
  shown(): readonly StatusSource[] | undefined {
    const all: StatusSource[] = [];
    for (const sources of this.#others.values()) {
      if (sources === undefined) return undefined;
      all.push(...sources);
    }
    return all;
  }

  /** Makes the newest contexts, or throws; the result puts them to use. */
  prepared(): () => void {
    this.#learn();
    const made = [...this.#followed].map(([entry, options]) => [entry, this.#make(options)] as const);
    return () => {
      for (const [entry, context] of made) entry[1] = context;
    };
  }

  #learn(): void {
    const { cert, ca } = this.#follower.loaded.value.pems;
    if (cert !== undefined) this.#leaves.add(cert);
    if (ca !== undefined) this.#cas.add(ca);
  }

  #make(options: SecureContextOptions): SecureContext {
    const { ca, cert, key } = this.#follower.loaded.value.pems;
    const { passphrase: _, ...rest } = options;
    const verifies = this.#cas.has(options.ca) ? { ca } : {};
    return createSecureContext({ ...rest, ...this.#settings(), cert, key, ...verifies });
  }

  /** `options`: undefined for a context that the program made, or that was there before. */
  #take(entry: Entry, options: SecureContextOptions | undefined): void {
    const owner = OWNERS.get(nativeOf(entry));
    if (owner !== undefined) {
      const live = { get: () => owner.secureContext().context as unknown, enumerable: true };
      entry[1] = Object.create(owner.secureContext(), { context: live }) as {
        readonly context: NativeContext;
      };
      this.#others.set(entry, [owner]);
      return;
    }
    const certs = partsOf(options?.cert);
    if (
      options !== undefined &&
      options.pfx === undefined &&
      certs.length === 1 &&
      this.#leaves.has(certs[0])
    ) {
      try {
        entry[1] = this.#make(options);
        this.#followed.set(entry, options);
        if (!this.#cas.has(options.ca)) this.#others.set(entry, this.#ownCa(entry, options) ?? []);
        return;
      } catch {
        // the newest does not go with these options: the context keeps what it has, and that is shown
      }
    }
    this.#keepsItsOwn(entry, options);
  }

  #keepsItsOwn(entry: Entry, options: SecureContextOptions | undefined): void {
    const cas = this.#ownCa(entry, options);
    this.#others.set(entry, cas && [...this.#leavesOf(entry, options), ...cas]);
    if (cas !== undefined) return;
    warn(
      'CONTEXT_NOT_FOLLOWED',
      `a context for ${entry[0].source} of a server checks clients by CAs that cannot be read from it, so that this process shows no status; add it after identity.serve(), as options or as identity.secureContext()`,
    );
  }

  /** Undefined: the context may verify clients by any CA. */
  #ownCa(entry: Entry, options: SecureContextOptions | undefined): readonly StatusSource[] | undefined {
    if (this.#server.requestCert === false) return [];
    if (options === undefined || options.pfx !== undefined) return undefined;
    const pems = partsOf(options.ca || undefined) as readonly (string | Uint8Array)[];
    const { clock } = this.#follower.options;
    return pems.length === 0 ? [] : [new FrozenTrust(`ca for ${entry[0].source}`, pems, clock)];
  }

  /** The leaf that stands in a context now: a program may make its contexts follow by itself. Of several, OpenSSL tells one alone. */
  #leavesOf(entry: Entry, options: SecureContextOptions | undefined): readonly StatusSource[] {
    const { clock } = this.#follower.options;
    const loadedAt = clock.now();
    const certs = partsOf(options?.cert) as readonly (string | Buffer)[];
    const ders: readonly (() => Buffer | null | undefined)[] =
      certs.length > 1
        ? certs.map((cert) => () => new X509Certificate(cert).raw)
        : [() => nativeOf(entry).getCertificate?.()];
    const statusOf = (der: Buffer | null | undefined): SourceStatus => ({
      kind: 'identity',
      path: `context for ${entry[0].source}`,
      loads: 1,
      loadedAt: iso(loadedAt),
      age: ageOf(loadedAt, clock.now()),
      ...(der === undefined || der === null ? {} : { leaf: leafIn(der) }),
    });
    return ders.map((der) => ({ status: () => statusOf(der()), on: () => undefined }));
  }
}
