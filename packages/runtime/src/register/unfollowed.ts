import { X509Certificate } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import { type Clock, HandoverError, instant, iso, parseCertificate } from '@handover/material';
import { FrozenTrust } from '../status/frozen-trust.ts';
import { ageOf, leafStatus, type SourceStatus, type StatusSource } from '../status/status.ts';

/** A program that makes a context for each connection may hold the old text for a while without one. */
const HOLD_MS = 3_600_000;
const MAX_SHAPES = 64;

type Kind = 'trust' | 'identity';

interface Shape {
  readonly kind: Kind;
  readonly source: StatusSource;
  /** By the monotonic clock. */
  usedAt: number;
  contexts: WeakRef<SecureContext>[];
}

/** The leaf that this certificate is in a status document; undefined: one that has no issuer's key id, and so no known issuer. */
const leafOf = (der: Buffer, isOfFile: boolean): SourceStatus['leaf'] => {
  try {
    const leaf = leafStatus(parseCertificate(der));
    return leaf.issuerKeyId === undefined && !isOfFile ? undefined : leaf;
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    if (!isOfFile) return undefined;
    const { fingerprint256, validTo } = new X509Certificate(der);
    return {
      fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
      notAfter: iso(instant(Date.parse(validTo))),
    };
  }
};

/**
 * What contexts of a program use in a shape that is not followed: part of the file's CAs, a `pfx`, a certificate of its own. It is shown for
 * as long as such a context lives, for an hour after the last was made, and until the program makes another shape of that kind.
 */
export class Unfollowed {
  readonly #clock: Clock;
  readonly #shapes = new Map<string, Shape>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** CAs that a context trusts, with CAs of the file among them. */
  trusts(pems: readonly (string | Uint8Array)[], context: SecureContext): void {
    const source = new FrozenTrust('ca of the program', pems, this.#clock);
    this.#note('trust', (source.status().anchors ?? []).toSorted().join(' '), source, context);
  }

  /** `isOfFile`: whether the leaf is or was in the followed file. */
  shows(der: Buffer, isOfFile: boolean, context: SecureContext): void {
    const leaf = leafOf(der, isOfFile);
    if (leaf === undefined) return;
    const clock = this.#clock;
    const loadedAt = clock.now();
    const status = (): SourceStatus => ({
      kind: 'identity',
      path: 'certificate of the program',
      leaf,
      loads: 1,
      loadedAt: iso(loadedAt),
      age: ageOf(loadedAt, clock.now()),
    });
    this.#note('identity', leaf.fingerprint, { status, on: () => undefined }, context);
  }

  statuses(): readonly SourceStatus[] {
    const now = this.#clock.monotonic();
    const newest = new Map<Kind, Shape>();
    for (const shape of this.#shapes.values()) newest.set(shape.kind, shape);
    for (const [key, shape] of this.#shapes) {
      shape.contexts = shape.contexts.filter((context) => context.deref() !== undefined);
      const isUsed = shape.contexts.length > 0 || now - shape.usedAt < HOLD_MS;
      if (!isUsed && newest.get(shape.kind) !== shape) this.#shapes.delete(key);
    }
    return [...this.#shapes.values()].map(({ source }) => source.status());
  }

  /** The shape that was used last stands last. */
  #note(kind: Kind, name: string, source: StatusSource, context: SecureContext): void {
    const key = `${kind} ${name}`;
    const known = this.#shapes.get(key);
    this.#shapes.delete(key);
    const [oldest] = this.#shapes.keys();
    if (this.#shapes.size >= MAX_SHAPES && oldest !== undefined) this.#shapes.delete(oldest);
    const contexts = known?.contexts ?? [];
    // One for each connection, in some programs: those that are gone are dropped now and then.
    if (contexts.length % MAX_SHAPES === 0)
      contexts.splice(0, contexts.length, ...contexts.filter((one) => one.deref() !== undefined));
    contexts.push(new WeakRef(context));
    this.#shapes.set(key, {
      kind,
      source: known?.source ?? source,
      usedAt: this.#clock.monotonic(),
      contexts,
    });
  }
}
