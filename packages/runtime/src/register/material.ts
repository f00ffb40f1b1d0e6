import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { SecureContext, SecureContextOptions } from 'node:tls';
import * as tls from 'node:tls';
import { type Clock, encodePem } from '@handover/material';
import { SOURCE } from '../clients/client-source.ts';
import { systemClock } from '../clock.ts';
import type { Identity } from '../identity.ts';
import { asLeaf, asSet, isText, KnownTexts, partsOf, withoutCertificates } from '../servers/known-texts.ts';
import { sessionIdContextFor, ticketKeysFor } from '../servers/ticket-keys.ts';
import type { Shown } from '../status/status.ts';
import type { TlsProfile } from '../tls-profile.ts';
import type { Trust } from '../trust.ts';
import { Unfollowed } from './unfollowed.ts';

type Key = string | Buffer | { readonly pem: string | Buffer; readonly passphrase?: string };

/** The keys of an option that belong to none of these certificates. `node:tls` takes keys in any order. */
export function keysBeside(
  certs: readonly unknown[],
  { key, passphrase: shared }: SecureContextOptions,
): readonly unknown[] {
  const leaves = certs.map((cert) => new X509Certificate(cert as string | Buffer));
  return partsOf(key).filter((given) => {
    const part = given as Key;
    const { pem, passphrase = shared } =
      typeof part === 'object' && 'pem' in part ? part : { pem: part, passphrase: shared };
    try {
      const own = createPrivateKey({ key: pem, ...(passphrase === undefined ? {} : { passphrase }) });
      return !leaves.some((leaf) => leaf.checkPrivateKey(own));
    } catch {
      return true; // for `node:tls` to refuse
    }
  });
}

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
  /** What the program lists beside the contents of the files. */
  readonly own: Own;
}

/** The native half of a context, as `node:tls` keeps it. */
interface NativeLeaf {
  getCertificate(): Buffer | null | undefined;
}

interface Own {
  readonly ca: readonly string[];
  readonly cert: readonly unknown[];
  readonly key: readonly unknown[];
}

/** A list in which the newest comes last: of two certificates with one kind of key OpenSSL shows the last. */
const beside = (own: readonly unknown[], newest: string | undefined): SecureContextOptions['cert'] =>
  own.length === 0 ? newest : ([...own, newest] as string[]);

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
  readonly #unfollowed: Unfollowed;

  constructor(sources: Sources, clock: Clock = systemClock) {
    this.#sources = sources;
    this.#unfollowed = new Unfollowed(clock);
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
    // Without a followed CA in its options it has one that was added later.
    if (ca !== undefined || !(identity || profile)) this.#sources.trust?.[SOURCE].complain(thrown);
    if (identity) this.#sources.identity?.[SOURCE].complain(thrown);
    if (profile) this.#sources.profile?.complain(thrown);
  }

  /** The sources of `shown`, and what contexts of the program use that do not follow them. */
  beside(shown: Shown): Shown {
    return {
      statuses: () => {
        const own = shown.statuses();
        return own && [...own, ...this.#unfollowed.statuses()];
      },
      onChange: (listener) => shown.onChange(listener),
    };
  }

  /** A context was made with these options: what of them is not followed is shown as it is. */
  made(context: SecureContext, options: SecureContextOptions, followed: Followed | undefined): void {
    const { ca, cert, pfx } = options;
    if (ca && followed?.ca === undefined && this.#cas?.touches(ca))
      this.#unfollowed.trusts(partsOf(ca).filter(isText), context);
    if (cert === undefined && pfx === undefined) return;
    const own =
      followed?.identity === true || partsOf(cert).length > 1
        ? (followed?.own.cert ?? partsOf(cert)).filter(isText).map((part) => new X509Certificate(part).raw)
        : [(context.context as NativeLeaf).getCertificate()];
    for (const der of own) {
      if (der !== null && der !== undefined)
        this.#unfollowed.shows(der, this.#leaves?.has(encodePem('CERTIFICATE', der)) ?? false, context);
    }
  }

  /** The program has added this CA to a context. */
  addedTo(context: SecureContext, pem: string | Buffer): void {
    if (!this.isOfFile(pem) && this.#cas?.touches([pem])) this.#unfollowed.trusts([pem], context);
  }

  /** Undefined: the program sets everything itself, and no CA can be added that is followed. */
  followedIn(options: SecureContextOptions, serves: boolean): Followed | undefined {
    const cas = this.#cas?.in(options.ca) ?? new Set();
    // `node:tls` takes '' and false for no CA, too.
    const ca = !options.ca ? this.#sources.trust && 'default' : cas.size > 0 ? 'file' : undefined;
    const certs = partsOf(options.cert);
    const followed = options.pfx === undefined ? certs.filter((cert) => this.#leaves?.has(cert)) : [];
    const identity = followed.length > 0;
    const profile = serves && this.#sources.profile !== undefined;
    if (ca === undefined && !identity && !profile && this.#cas === undefined) return undefined;
    const cert = certs.filter((part) => !followed.includes(part));
    const key = cert.length === 0 ? [] : keysBeside(followed, options);
    return { ca, identity, profile, own: { ca: withoutCertificates(options.ca, cas), cert, key } };
  }

  /** Whether anything of a context is followed. `added`: what the program has added, maybe with the contents of HANDOVER_CA. */
  follows({ ca, identity, profile }: Followed, added: readonly unknown[]): boolean {
    return ca !== undefined || identity || profile || (this.#cas?.has(added) ?? false);
  }

  /** Whether it is the contents of HANDOVER_CA, now or before. */
  isOfFile(pem: unknown): boolean {
    return this.#cas?.has([pem]) ?? false;
  }

  /** The program's options with the newest material in place of what came from followed files. */
  optionsFor(options: SecureContextOptions, { ca, identity, profile, own }: Followed): SecureContextOptions {
    const { trust, caOnly } = this.#sources;
    const pems = this.#sources.identity?.[SOURCE].current();
    const { passphrase, ...rest } = options;
    const tickets = options.ticketKeys;
    return {
      ...(profile ? this.#sources.profile?.tlsOptions() : {}),
      ...defined(
        identity
          ? {
              ...rest,
              cert: beside(own.cert, pems?.cert),
              key: beside(own.key, pems?.key),
              passphrase: own.key.length > 0 ? passphrase : undefined,
            }
          : options,
      ),
      ...(ca === 'file' || (ca === 'default' && caOnly) ? { ca: beside(own.ca, trust?.pem) } : {}),
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

  /** The CA certificates to add to a new context. `own`: what the program has added. */
  added({ ca }: Followed, own: readonly unknown[]): readonly string[] {
    const { trust, caOnly } = this.#sources;
    const cas = this.#cas?.in(own) ?? new Set<string>();
    const rest = withoutCertificates(own, cas);
    const isMissing = ca === 'default' ? !caOnly && !this.#inDefaults : ca === undefined && cas.size > 0;
    if (!isMissing || trust === undefined) return rest;
    return [...(ca === 'default' ? this.#extra : []), ...blocksOf(trust.pem), ...rest];
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
