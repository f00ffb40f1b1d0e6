import {
  type AuthorityState,
  type Generation,
  isMoving,
  type Policy,
  type Transition,
  withRole,
} from '@handover/core';
import { instant } from '@handover/material';
import type { Certificates } from './certificates.ts';
import { type Class, type HandshakePair, Handshakes } from './handshakes.ts';
import { isForeign } from './resources.ts';
import type { SimulatedStore } from './store.ts';

/** The first failure, with all that a replay needs. */
export interface SimulationFailure {
  readonly seed: number;
  /** Seconds since the world began. */
  readonly at: number;
  readonly kind:
    | 'handshake'
    | 'stable'
    | 'bundle'
    | 'key'
    | 'distrust'
    | 'idempotence'
    | 'liveness'
    | 'ready';
  readonly presenter: string | null;
  readonly verifier: string | null;
  /** Leaf first. */
  readonly chain: readonly string[];
  readonly bundle: readonly string[];
  readonly reason: string;
}

export type Broken = Omit<SimulationFailure, 'seed' | 'at'>;

/** For a failure that is about no pair. */
export const NO_PAIR = { presenter: null, verifier: null, chain: [], bundle: [] } as const;

/** Whether a step says that it rests on a chain that was not seen, of the one that strips the cross-certificate or of more than it names. */
const saysUnseen = (why = ''): boolean =>
  /no probe or status document has shown that [^;]*(stripping|[0-9]+ more) sends? it/.test(why);

/** The verifiers that a step says it overtakes, and whether there are more than it names. */
const overtakenIn = (why = ''): { readonly names: readonly string[]; readonly more: boolean } | undefined => {
  const [, listed = '', more] =
    /, but (.+?)( and \d+ more)? in other namespaces did not confirm in time/.exec(why) ?? [];
  return listed === '' ? undefined : { names: listed.split(', '), more: more !== undefined };
};

const anchorsOf = (generation: Generation): readonly string[] =>
  generation.anchors.map((anchor) => anchor.fingerprint);

/** The one invariant for every pair, and what must hold for the authority, its objects and its consumers. */
export class Invariant {
  readonly handshakes: Handshakes;
  readonly #certificates: Certificates;
  readonly #store: SimulatedStore;
  readonly #onBlocked: Policy['onBlocked'];
  readonly #fail: (broken: Broken) => void;
  /** Distrusted CAs: their leaves may be refused. */
  readonly #distrusted = new Set<string>();
  /** CAs that replaced a distrusted one: they sign before they are distributed. */
  readonly #replacements = new Set<string>();
  readonly #unvouched = new Set<string>();
  /** CAs that sign although a presenter was not seen sending their cross-certificates, as the step said: it may strip them. */
  readonly #onUnseenChains = new Set<string>();
  /** Verifiers of other namespaces that a step overtook, and said so, for a CA that has no cross-certificate to cover them: docs/decisions/0409. */
  readonly #overtaken = new Map<string, NonNullable<ReturnType<typeof overtakenIn>>>();
  readonly #forgotten: string[] = [];
  /** For each CA, the CAs that were in the authority when it began to sign. */
  readonly #besides = new Map<string, ReadonlySet<string>>();
  readonly #crosses: string[] = [];

  constructor(
    certificates: Certificates,
    store: SimulatedStore,
    onBlocked: Policy['onBlocked'],
    fail: (broken: Broken) => void,
  ) {
    this.#onBlocked = onBlocked;
    this.#certificates = certificates;
    this.#store = store;
    this.#fail = fail;
    this.handshakes = new Handshakes(certificates, (presenter, verifier, at) =>
      this.#excused(presenter, verifier, at),
    );
  }

  /** Whether the design makes no promise about this pair. */
  #excused(presenter: Class, verifier: Class, at: number): boolean {
    const { issuer, standing, certificates } = presenter;
    if (issuer === undefined || this.#distrusted.has(issuer)) return true;
    const [leaf] = certificates;
    if (standing.stuck && leaf !== undefined && at >= this.#certificates.of(leaf).notAfter) return true;
    // Nor about a verifier that holds only expired CAs.
    const ended = (ca: string): boolean => at >= this.#certificates.of(ca).notAfter;
    if (verifier.standing.stuck && verifier.certificates.every(ended)) return true;
    if (verifier.certificates.includes(issuer)) return false;
    // Its owner chose to go on without it: the cross-certificate covers it for that rotation, not for the next.
    if (verifier.standing.stuck && this.#onBlocked === 'Proceed') {
      const besides = this.#besides.get(issuer);
      if (!verifier.certificates.some((ca) => besides?.has(ca) === true)) return true;
    }
    const overtaken = verifier.standing.elsewhere === true ? this.#overtaken.get(issuer) : undefined;
    const isNamed = (member: string): boolean =>
      overtaken?.more === true || overtaken?.names.includes(member.replace(/-\d+$/, '')) === true;
    if (overtaken !== undefined && [...verifier.members].every(isNamed)) return true;
    const isTold = this.#replacements.has(issuer) || this.#onUnseenChains.has(issuer);
    return this.#unvouched.has(issuer) || (standing.strips && isTold);
  }

  /** After each step of the world. */
  step(at: number): void {
    const failing = this.handshakes.step(at);
    if (failing === undefined) return;
    for (const pair of failing) this.#failPair(pair);
    this.#checkStable(at);
    if (this.#forgotten.length > 0) this.#checkForgotten(at);
  }

  swapped(before: AuthorityState | undefined, transition: Transition): void {
    const record = this.#store.authority;
    if (record === undefined) return;
    const { state, keys } = record;
    for (const signer of state.generations.filter(({ role }) => role === 'current').flatMap(anchorsOf))
      if (!this.#besides.has(signer))
        this.#besides.set(
          signer,
          new Set(state.generations.filter(({ role }) => role !== 'retained').flatMap(anchorsOf)),
        );
    for (const cross of state.crosses)
      if (!this.#crosses.includes(cross.fingerprint)) this.#crosses.push(cross.fingerprint);
    if (transition.kind === 'activate' && saysUnseen(record.history?.at(-1)?.why))
      for (const item of state.generations.filter(({ role }) => role === 'current').flatMap(anchorsOf))
        this.#onUnseenChains.add(item);
    const overtaken = transition.kind === 'activate' ? overtakenIn(record.history?.at(-1)?.why) : undefined;
    const current = withRole(state, 'current');
    const isCovered = state.crosses.some(({ of }) => of === current?.number);
    if (overtaken !== undefined && current !== undefined && !isCovered)
      for (const item of anchorsOf(current)) this.#overtaken.set(item, overtaken);
    if (transition.kind === 'distrust') {
      for (const generation of state.generations) {
        if (generation.role === 'distrusted')
          for (const item of anchorsOf(generation)) this.#distrusted.add(item);
        if (generation.number !== transition.replacement?.generation) continue;
        for (const item of anchorsOf(generation)) {
          this.#replacements.add(item);
          if (transition.replacement.crossBy === undefined) this.#unvouched.add(item);
        }
      }
      this.handshakes.reconsider();
    }
    if (transition.kind === 'distrust-done') {
      for (const generation of before?.generations ?? []) {
        if (transition.generations.includes(generation.number))
          this.#forgotten.push(...anchorsOf(generation));
      }
    }
    for (const id of this.#store.objects.keys()) this.wrote(id);
    for (const number of keys.keys()) {
      if (
        !state.generations.some((item) => item.number === number && item.hasKey && item.role !== 'distrusted')
      )
        this.#broke('key', `the key of CA generation ${number} outlived it`);
    }
    for (const { number, role, hasKey } of state.generations) {
      if (hasKey && role !== 'distrusted' && !keys.has(number))
        this.#broke('key', `the key of CA generation ${number} is lost`);
    }
  }

  /** The dates in an object's record are no older than its bytes: evidence counts from them. */
  noted(id: string): void {
    const record = this.#store.object(id)?.record;
    const tooOld = (began: number | undefined, since: number): boolean =>
      began === undefined || since < began;
    const refuse = (what: string): void =>
      this.#broke('bundle', `${id} is said to have held ${what} for too long`);
    for (const { fingerprint, since } of record?.anchors ?? []) {
      const began = this.#store.runBegan(id, ({ anchors }) => anchors.includes(fingerprint));
      if (tooOld(began, since)) refuse(this.#certificates.label(fingerprint));
    }
    const leaf = record?.leaf;
    if (leaf === undefined) return;
    const written = this.#store.runBegan(id, ({ chain }) => chain?.[0] === leaf.fingerprint);
    const issued = this.#store.runBegan(id, ({ issuer }) => issuer === leaf.issuer);
    if (tooOld(written, leaf.writtenAt)) refuse('its leaf');
    if (tooOld(issued, leaf.issuerSince)) refuse('leaves of its issuer');
  }

  /** While n is previous, no managed bundle lacks n. */
  wrote(id: string): void {
    const state = this.#store.state;
    const previous = state === undefined ? undefined : withRole(state, 'previous');
    if (previous === undefined) return;
    if (!this.#store.managed.has(id) || this.#store.revisionOf(id) === undefined || isForeign(id)) return;
    const held = this.#store.latest(id)?.anchors ?? [];
    for (const anchor of previous.anchors) {
      if (anchor.notAfter <= this.#store.now || held.includes(anchor.fingerprint)) continue;
      this.#broke('bundle', `${id} lacks CA generation ${previous.number}, which is still previous`);
    }
  }

  /** When Stable(n): every known verifier holds n, every known presenter shows a leaf of n. */
  #checkStable(at: number): void {
    const state = this.#store.state;
    if (state === undefined || isMoving(state)) return;
    const current = withRole(state, 'current');
    if (current === undefined || !this.#store.upToDate(state.revision)) return;
    const anchors = anchorsOf(current);
    for (const group of this.handshakes.presenters.values()) {
      if (!group.standing.known || group.issuer === undefined || anchors.includes(group.issuer)) continue;
      const [leaf] = group.certificates;
      if (leaf !== undefined && at >= this.#certificates.of(leaf).notAfter) continue;
      this.#broke('stable', `Stable(${current.number}), and it presents another leaf`, group, undefined);
    }
    for (const group of this.handshakes.verifiers.values()) {
      if (!group.standing.known || anchors.every((anchor) => group.certificates.includes(anchor))) continue;
      // Its owner chose to go on without it once every old leaf had expired: the cross-certificate covers it.
      if (group.standing.stuck && this.#onBlocked === 'Proceed') continue;
      this.#broke('stable', `Stable(${current.number}), and it does not hold it`, undefined, group);
    }
  }

  /** After a distrust: no cross-certificate that was ever public makes a verifier accept the distrusted CA. */
  #checkForgotten(at: number): void {
    for (const ca of this.#forgotten) {
      const chain = [this.#certificates.forged(ca), ...this.#crosses];
      for (const group of this.handshakes.verifiers.values()) {
        if (!group.standing.known) continue;
        if (!this.#certificates.verdict(chain, group.certificates, instant(at)).ok) continue;
        this.#broke(
          'distrust',
          `CA generation ${this.#certificates.label(ca)} was distrusted and is accepted`,
          undefined,
          group,
        );
      }
    }
  }

  #failPair({ presenter, verifier, reason }: HandshakePair): void {
    // The key identifier in a CA's name differs from run to run; a seed's report must not.
    this.#broke('handshake', reason.replace(/(CN=sim \d+) [0-9a-f]{8}/g, '$1'), presenter, verifier);
  }

  #broke(kind: SimulationFailure['kind'], reason: string, presenter?: Class, verifier?: Class): void {
    const labels = (group: Class | undefined): readonly string[] =>
      group?.certificates.map((item) => this.#certificates.label(item)) ?? [];
    this.#fail({
      kind,
      presenter: presenter?.members.values().next().value ?? null,
      verifier: verifier?.members.values().next().value ?? null,
      chain: labels(presenter),
      bundle: labels(verifier),
      reason,
    });
  }
}
