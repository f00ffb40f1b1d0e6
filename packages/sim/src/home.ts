import type {
  Anchor,
  AuthorityState,
  BundlePolicy,
  BundleWrite,
  HeldAnchor,
  LeafPolicy,
  LeafSeen,
  LeafWrite,
  ObjectSeen,
} from '@handover/core';
import { type Instant, instant } from '@handover/material';
import type { Certificates } from './certificates.ts';

/** What a reader of an object gets, as of one write. */
export interface Content {
  /** True time of the write. */
  readonly at: number;
  /** Grows with every write: a reader never goes back. */
  readonly order: number;
  /** Leaf first; undefined for a bundle without a leaf. */
  readonly chain: readonly string[] | undefined;
  readonly issuer: string | undefined;
  readonly anchors: readonly string[];
}

interface Stored {
  readonly seen: ObjectSeen;
  readonly history: readonly Content[];
}

export type Landing = 'landed' | 'conflict';

/** The home's store: objects by version, the authority by revision, and the clock that dates them. */
export class Home {
  readonly #certificates: Certificates;
  readonly #time: () => number;
  readonly #objects = new Map<string, Stored>();
  #list: readonly ObjectSeen[] | undefined;
  #version = 0;
  /** How far its clock is from the truth. */
  offset = 0;
  away = false;
  authority: AuthorityState | undefined;
  /** Fingerprints of the CAs whose private key is in the authority's Secret. */
  keys: ReadonlySet<string> = new Set();
  leaves: readonly LeafPolicy[] = [];
  bundles: readonly BundlePolicy[] = [];
  rotate: readonly string[] = [];
  distrust: readonly number[] = [];
  adoptable: readonly Anchor[] = [];
  onWrite: (object: string, content: Content) => void = () => {};

  constructor(certificates: Certificates, time: () => number) {
    this.#certificates = certificates;
    this.#time = time;
  }

  get now(): Instant {
    return instant(Math.round(this.#time() + this.offset));
  }

  get version(): number {
    return this.#version;
  }

  list(): readonly ObjectSeen[] {
    this.#list ??= [...this.#objects.values()].map((stored) => stored.seen);
    return this.#list;
  }

  object(id: string): ObjectSeen | undefined {
    return this.#objects.get(id)?.seen;
  }

  /** The content as it was at a true time: what a cache that old still gives. */
  contentAt(id: string, at: number): Content | undefined {
    const history = this.#objects.get(id)?.history ?? [];
    let found: Content | undefined;
    for (const content of history) if (content.at <= at) found = content;
    return found;
  }

  latest(id: string): Content | undefined {
    return this.#objects.get(id)?.history.at(-1);
  }

  swap(expect: number | undefined, state: AuthorityState, keys: ReadonlySet<string>): Landing {
    if (this.authority?.revision !== expect) return 'conflict';
    this.authority = state;
    this.keys = keys;
    this.#version++;
    return 'landed';
  }

  /** `spec`: of the Leaf the write was decided on. */
  write(action: BundleWrite | LeafWrite, issuer: string | undefined, spec: string | undefined): Landing {
    const before = this.#objects.get(action.object)?.seen;
    if (before?.version !== action.expect) return 'conflict';
    const leaf =
      action.kind === 'write-leaf' ? this.#leafAfter(action, before?.leaf, issuer, spec) : before?.leaf;
    this.#store(action.object, action.revision, action.anchors, leaf);
    return 'landed';
  }

  /** What was there before the story begins, or what somebody else put there. */
  place(
    id: string,
    revision: number | undefined,
    anchors: readonly string[],
    leaf: LeafSeen | undefined,
  ): void {
    this.#store(id, revision, anchors, leaf, Number.NEGATIVE_INFINITY);
  }

  /** Somebody edits what is not ours (a label): the version moves, the content stays. */
  touch(id: string): void {
    const stored = this.#objects.get(id);
    if (stored === undefined) return;
    this.#objects.set(id, { ...stored, seen: { ...stored.seen, version: `${++this.#version}` } });
    this.#list = undefined;
  }

  #leafAfter(
    action: LeafWrite,
    before: LeafSeen | undefined,
    issuer: string | undefined,
    spec: string | undefined,
  ): LeafSeen | undefined {
    if (action.issue === undefined || issuer === undefined) {
      return before === undefined ? undefined : { ...before, chain: action.chain ?? before.chain };
    }
    const { notBefore, notAfter, othersExpire, replacesOne } = action.issue;
    let fingerprint = this.#certificates.leaf(issuer, notBefore, notAfter);
    // Two leaves of one second are two leaves.
    if (fingerprint === before?.fingerprint)
      fingerprint = this.#certificates.leaf(issuer, notBefore, notAfter, 1);
    const certificate = this.#certificates.of(fingerprint);
    return {
      fingerprint,
      issuer,
      chain: action.chain ?? [],
      notBefore: certificate.notBefore,
      notAfter: certificate.notAfter,
      spec: spec ?? '',
      writtenAt: this.now,
      issuerSince: before?.issuer === issuer ? before.issuerSince : this.now,
      replacedOne: replacesOne,
      othersExpire,
    };
  }

  #store(
    id: string,
    revision: number | undefined,
    anchors: readonly string[],
    leaf: LeafSeen | undefined,
    at = this.#time(),
  ): void {
    const stored = this.#objects.get(id);
    const before = stored?.seen;
    const held = anchors.map(
      (fingerprint): HeldAnchor =>
        before?.anchors.find((anchor) => anchor.fingerprint === fingerprint) ?? {
          fingerprint,
          since: this.now,
        },
    );
    const sameSet =
      before !== undefined &&
      before.anchors.length === held.length &&
      held.every((anchor) => before.anchors.includes(anchor));
    const content: Content = {
      at,
      order: ++this.#version,
      chain: leaf === undefined ? undefined : [leaf.fingerprint, ...leaf.chain],
      issuer: leaf?.issuer,
      anchors,
    };
    this.#objects.set(id, {
      seen: {
        id,
        version: `${this.#version}`,
        revision,
        anchors: held,
        changedAt: sameSet ? before.changedAt : this.now,
        leaf,
      },
      history: [...(stored?.history ?? []), content],
    });
    this.#list = undefined;
    this.onWrite(id, content);
  }
}
