import { readFileSync } from 'node:fs';
import type { SecureContext, SecureContextOptions } from 'node:tls';
import * as tls from 'node:tls';
import { SOURCE } from '../client-source.ts';
import type { Identity } from '../identity.ts';
import { sessionIdContextFor, ticketKeysFor } from '../ticket-keys.ts';
import type { TlsProfile } from '../tls-profile.ts';
import type { Trust } from '../trust.ts';
import { asLeaf, asSet, KnownTexts } from './known-texts.ts';

export interface Sources {
  readonly trust?: Trust | undefined;
  readonly identity?: Identity | undefined;
  readonly profile?: TlsProfile | undefined;
  readonly caOnly: boolean;
}

/** What of a program's options comes from followed files. */
export interface Followed {
  /** `default`: the program names no CA. `file`: it passes the contents of HANDOVER_CA. */
  readonly ca: 'default' | 'file' | undefined;
  readonly identity: boolean;
  readonly profile: boolean;
}

/** Node 22.19, 24.5 and later; @types/node of the oldest supported version do not list it. */
interface DefaultCertificates {
  getCACertificates?(type: 'default'): readonly string[];
  setDefaultCACertificates?(certificates: readonly string[]): void;
}

/** One text for each certificate, as Node takes them. Lines of a file may end in CRLF. */
const blocksOf = (pem: string): readonly string[] =>
  (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (block) => `${block}\n`,
  );

const blocksIn = (path: string | undefined): readonly string[] => {
  try {
    return path ? blocksOf(readFileSync(path, 'utf8')) : [];
  } catch {
    return []; // Node has warned of it
  }
};

const defined = (options: SecureContextOptions): SecureContextOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

/** The followed files, as options of a TLS context. `version` grows with each change. */
export class FollowedMaterial {
  readonly #sources: Sources;
  readonly #cas: KnownTexts | undefined;
  readonly #leaves: KnownTexts | undefined;
  /** Set where Node itself adds the bundle to each context that names no CA. */
  #inDefaults = false;
  /** Node before 22.19 forgets NODE_EXTRA_CA_CERTS in a context to which a CA is added. */
  readonly #extra = blocksIn(process.env.NODE_EXTRA_CA_CERTS);
  version = 1;
  #isRefused = false;
  readonly #contexts = new Set<WeakRef<SecureContext>>();

  constructor(sources: Sources) {
    this.#sources = sources;
    const { trust, identity, profile } = sources;
    if (trust !== undefined) this.#cas = new KnownTexts(trust.status().path, asSet);
    if (identity !== undefined) this.#leaves = new KnownTexts(identity.status().path, asLeaf);
    const update = () => {
      this.version++;
      if (trust !== undefined) this.#cas?.add(trust.pem);
      if (identity !== undefined) this.#leaves?.add(identity.pem);
      this.#rebuild();
    };
    update();
    this.#setDefaults(); // first: contexts that are made again at a change take the new defaults
    trust?.[SOURCE].onSwap(update);
    identity?.[SOURCE].onSwap(update);
    profile?.onSwap(update);
  }

  /** A context that lives on: it is made again at each change, so that the status shows only what every context has taken. */
  keep(context: SecureContext): void {
    this.#contexts.add(new WeakRef(context));
  }

  /** A context with these options refused the newest material. */
  refused(thrown: unknown, { ca, identity, profile }: Followed): void {
    this.#isRefused = true;
    if (ca !== undefined) this.#sources.trust?.[SOURCE].complain(thrown);
    if (identity) this.#sources.identity?.[SOURCE].complain(thrown);
    if (profile) this.#sources.profile?.complain(thrown);
  }

  /** Undefined: the program sets everything itself, and keeps it. */
  followedIn(options: SecureContextOptions, serves: boolean): Followed | undefined {
    const ca =
      options.ca === undefined || options.ca === null
        ? this.#sources.trust && 'default'
        : this.#cas?.has(options.ca)
          ? 'file'
          : undefined;
    const identity = options.pfx === undefined && this.#leaves?.has(options.cert) === true;
    const profile = serves && this.#sources.profile !== undefined;
    return ca === undefined && !identity && !profile ? undefined : { ca, identity, profile };
  }

  /** The program's options with the newest material in place of what came from followed files. */
  optionsFor(options: SecureContextOptions, { ca, identity, profile }: Followed): SecureContextOptions {
    const { trust, caOnly } = this.#sources;
    const pems = this.#sources.identity?.[SOURCE].current();
    const { passphrase: _passphrase, ...rest } = options;
    const tickets = options.ticketKeys;
    return {
      ...(profile ? this.#sources.profile?.tlsOptions() : {}),
      ...defined(identity ? { ...rest, cert: pems?.cert, key: pems?.key } : options),
      ...(ca === 'file' || (ca === 'default' && caOnly) ? { ca: trust?.pem } : {}),
      ...(tickets === undefined
        ? {}
        : { ticketKeys: ticketKeysFor(tickets, trust?.pem, this.#sources.profile?.hash) }),
      ...(options.sessionIdContext === undefined
        ? {}
        : {
            sessionIdContext: sessionIdContextFor(
              options.sessionIdContext,
              trust?.pem,
              this.#sources.profile?.hash,
            ),
          }),
    };
  }

  /** The CA certificates to add to a new context that has Node's own roots. */
  added({ ca }: Followed): readonly string[] {
    const { trust, caOnly } = this.#sources;
    if (ca !== 'default' || caOnly || this.#inDefaults || trust === undefined) return [];
    return [...this.#extra, ...blocksOf(trust.pem)];
  }

  #rebuild(): void {
    this.#isRefused = false;
    for (const weak of this.#contexts) {
      const context = weak.deref();
      // Reading the native half makes it again.
      if (context === undefined) this.#contexts.delete(weak);
      else void context.context;
    }
    if (this.#isRefused) return;
    this.#sources.trust?.[SOURCE].settled();
    this.#sources.identity?.[SOURCE].settled();
    this.#sources.profile?.settled();
  }

  #setDefaults(): void {
    const { trust, caOnly } = this.#sources;
    const { getCACertificates, setDefaultCACertificates } = tls as DefaultCertificates;
    if (trust === undefined || getCACertificates === undefined || setDefaultCACertificates === undefined)
      return;
    const roots = caOnly ? [] : getCACertificates('default');
    const set = () => setDefaultCACertificates([...roots, ...blocksOf(trust.pem)]);
    set();
    trust[SOURCE].onSwap(set);
    this.#inDefaults = true;
  }
}
