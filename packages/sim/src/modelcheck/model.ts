import type { Action, AuthorityState, LeafSeen, Policy, Reload, Stamp } from '@handover/core';
import { type Duration, duration, type Instant, instant } from '@handover/material';
import type { Mode } from './neighbour.ts';

/** Model time advances by ticks. Only ratios matter: the lag of an API field is two ticks. */
export const TICK: Duration = duration(5_000);
export const BASE: Instant = instant(Date.UTC(2030, 0, 1));

/** Ages beyond this are equal in a world without expiry; a step waits for a neighbour for 3 ticks at most. */
const oldIn = ({ neighbour }: Pick<ModelWorld, 'neighbour'>): number =>
  (neighbour === undefined ? 6 : 3) * TICK;

export interface HeldCa {
  readonly fingerprint: string;
  readonly since: Instant;
}

/** What a process can read from an object. */
export interface ModelFiles {
  readonly anchors: readonly string[];
  /** Leaf first; empty when the object holds none. */
  readonly chain: readonly string[];
}

export interface ModelObject {
  readonly version: number;
  readonly revision: number | undefined;
  readonly anchors: readonly HeldCa[];
  readonly changedAt: Instant;
  readonly leaf: LeafSeen | undefined;
  /** Content before the last writes, while a cache may still hold it. */
  readonly stale: readonly (ModelFiles & { readonly until: Instant })[];
}

export interface ModelPod {
  readonly created: Instant;
  /** Terminating: it still serves. */
  readonly ending: boolean;
  /** Created, but has not read its files yet. */
  readonly pending: boolean;
  readonly stamp: Stamp | undefined;
  readonly bundle: readonly string[];
  readonly chain: readonly string[];
  /** Of the first write since its last load, for consumers that promise to reload in time. */
  readonly bundleBehind: Instant | undefined;
  readonly leafBehind: Instant | undefined;
}

export interface ModelConsumer {
  readonly pods: readonly ModelPod[];
  readonly stamp: Stamp | undefined;
  /** When its workload was created; undefined: long ago. */
  readonly created?: Instant;
}

/** How a consumer of a world behaves; it does not change. */
export interface Nature {
  readonly reload: Reload;
  readonly presents?: string;
  readonly verifies?: string;
  /** Reports what it has loaded. */
  readonly acknowledges?: boolean;
  /** A probe sees which leaf it presents, and what it sends behind it. */
  readonly probed?: boolean;
  /** Its evidence was declared and cannot be read. */
  readonly unread?: boolean;
  /** Its owner names the Leaf that it presents, and declares the address of this other consumer in place of its own. */
  readonly askedAt?: string;
  /** Its owner misspelt the Leaf that it presents. */
  readonly misspelt?: boolean;
  /** Its owner promised a reload within reloadWithin. */
  readonly ownersWord?: boolean;
  /** In another namespace. */
  readonly outside?: boolean;
  /** Unknown to the controller. */
  readonly hidden?: boolean;
  readonly neverReloads?: boolean;
  /** A new pod may read a copy that the consumer keeps, in place of its objects: a keystore on a volume that is written only once. */
  readonly keepsCopy?: boolean;
  readonly stripsCross?: boolean;
  /** Presents a leaf that no object shows, from some moment until that leaf ends. */
  readonly unseen?: boolean;
  /** Its pods end by themselves, as those of a Job. */
  readonly completes?: boolean;
  /** Stops when its leaf ends. */
  readonly expires?: boolean;
  /** No template to stamp: only its owner can restart it. */
  readonly unrollable?: boolean;
  /** It was restored with a stamp that this authority did not make. */
  readonly stamped?: Stamp;
}

/** An object that another program writes; what is true of the program does not change. */
export interface Lent {
  /** It renews when it likes. */
  readonly unasked?: boolean;
  /** In another namespace. */
  readonly elsewhere?: boolean;
  /** The program is away. */
  readonly stuck?: boolean;
  /** One process has it for itself, and which leaf it got last is not known: it is taken for one of the oldest CA. */
  readonly forgotten?: boolean;
  /** It was deleted, and no process reads it: a controller remembers that it was there. */
  readonly gone?: boolean;
}

/** What the program is about to write. */
export interface LentState {
  readonly asked: boolean;
  readonly signed?: { readonly leaf: LeafSeen; readonly anchors: readonly string[] };
}

export type Deed = { readonly action: Action; readonly seenStamp?: string };

export interface State {
  readonly now: Instant;
  readonly authority: AuthorityState | undefined;
  readonly backup: AuthorityState | undefined;
  readonly objects: Readonly<Record<string, ModelObject>>;
  /** Declared Leaves: their spec, and since when. */
  readonly leaves: Readonly<Record<string, { readonly spec: number; readonly createdAt: Instant }>>;
  readonly consumers: Readonly<Record<string, ModelConsumer>>;
  readonly lent: Readonly<Record<string, LentState>>;
  /** Actions that each controller has decided and not done yet. */
  readonly controllers: readonly (readonly Deed[])[];
  /** Each controller's view of all but the authority, in worlds where it reads them one after the other. */
  readonly views: readonly (ModelView | undefined)[];
  readonly rotate: readonly string[];
  readonly distrust: readonly number[];
  /** Generations that were distrusted. */
  readonly bad: readonly number[];
  /** A leaf of a trusted CA with the key of a leaf of a distrusted one. */
  readonly keptKey?: string;
  /** Every cross-certificate that was ever signed: they are public, and an attacker keeps them. */
  readonly signed: readonly string[];
  /** Ticks since a controller last looked; bounded in worlds where certificates expire. */
  readonly idle: number;
  /** What the owner of another namespace is doing. */
  readonly mode: Mode;
  /** What the environment may still do. */
  readonly budget: Readonly<Record<string, number>>;
}

export type ModelView = Pick<State, 'objects' | 'leaves' | 'consumers'>;

export interface ModelWorld {
  readonly name: string;
  readonly natures: Readonly<Record<string, Nature>>;
  readonly bundles: readonly string[];
  readonly policy: Partial<Policy>;
  readonly initial: State;
  /** Certificates have real dates, and time is not folded: it ends after this many ticks. */
  readonly timed?: {
    readonly tick: Duration;
    readonly lifetime: number;
    readonly leafLifetime: number;
    /** Of a Leaf whose spec was changed. */
    readonly shorter?: number;
    readonly end: number;
  };
  /** Pods may start from files in a kubelet's cache, and take time to end. */
  readonly caches?: boolean;
  /** Objects that kubelets cache for three ticks instead of two. */
  readonly slow?: readonly string[];
  /** A controller reads the objects first and the authority later, with changes in between. */
  readonly torn?: boolean;
  /** Objects of another namespace, whose owner is hostile. */
  readonly neighbour?: readonly string[];
  /** Objects that programs read that no consumer stands for, by their owners' word. */
  readonly others?: readonly string[];
  /** Objects of another namespace, whose owner is honest. */
  readonly elsewhere?: readonly string[];
  /** Objects that other programs write. */
  readonly lent?: Readonly<Record<string, Lent>>;
  /** Nothing depends on time, so time does not advance. */
  readonly timeless?: boolean;
}

export const ticks = (world: Pick<ModelWorld, 'timed'>, count: number): Duration =>
  duration(count * (world.timed?.tick ?? TICK));

/** The same answer for the same part: states share most of theirs. */
const once = <T extends object, U extends object>(change: (part: T) => U): ((part: T) => U) => {
  const known = new WeakMap<T, U>();
  return (part) => {
    const answer = known.get(part) ?? change(part);
    known.set(part, answer);
    return answer;
  };
};

/** Times of a state relative to its now, which passed by `shift`. */
const folder = (world: ModelWorld, shift: number): ((state: State) => State) => {
  const floor = BASE - oldIn(world);
  const at = (time: Instant): Instant => instant(Math.max(time - shift, floor));
  const maybe = (time: Instant | undefined): Instant | undefined =>
    time === undefined ? undefined : at(time);
  const all = <T, U>(change: (member: T) => U) =>
    once(
      (record: Readonly<Record<string, T>>): Readonly<Record<string, U>> =>
        Object.fromEntries(Object.entries(record).map(([key, member]) => [key, change(member)])),
    );
  const authority = once((value: AuthorityState) => ({
    ...value,
    generations: value.generations.map((g) => ({
      ...g,
      since: at(g.since),
      ...(g.stoppedAt === undefined ? {} : { stoppedAt: at(g.stoppedAt) }),
    })),
  }));
  const leaves = all((leaf: State['leaves'][string]) => ({ ...leaf, createdAt: at(leaf.createdAt) }));
  const objects = all(
    once((object: ModelObject) => ({
      ...object,
      anchors: object.anchors.map((held) => ({ ...held, since: at(held.since) })),
      changedAt: at(object.changedAt),
      leaf: object.leaf && {
        ...object.leaf,
        writtenAt: at(object.leaf.writtenAt),
        issuerSince: at(object.leaf.issuerSince),
      },
      stale: object.stale.map((files) => ({ ...files, until: at(files.until) })),
    })),
  );
  const consumers = all(
    once((consumer: ModelConsumer) => ({
      ...consumer,
      ...(consumer.created === undefined ? {} : { created: at(consumer.created) }),
      pods: consumer.pods.map((pod) => ({
        ...pod,
        created: at(pod.created),
        bundleBehind: maybe(pod.bundleBehind),
        leafBehind: maybe(pod.leafBehind),
      })),
    })),
  );
  return (state) => ({
    ...state,
    now: BASE,
    authority: state.authority && authority(state.authority),
    backup: state.backup && authority(state.backup),
    leaves: leaves(state.leaves),
    objects: objects(state.objects),
    consumers: consumers(state.consumers),
  });
};

/** A canonical form of equivalent states: time folded, old caches dropped, pods sorted. */
export const normaliser = (world: ModelWorld): ((state: State) => State) => {
  const inOrderOnce = once(inOrder);
  // Time passes by one tick a move.
  const fold = folder(world, ticks(world, 1));
  const ordered = once((consumers: State['consumers']) => changed(consumers, inOrderOnce));
  return (state) => {
    const folded = world.timed === undefined && state.now !== BASE ? fold(state) : state;
    const fresh = (object: ModelObject): ModelObject => {
      const stale = object.stale.filter((files) => files.until > folded.now);
      return stale.length === object.stale.length ? object : { ...object, stale };
    };
    return {
      ...folded,
      objects: changed(folded.objects, fresh),
      consumers: ordered(folded.consumers),
    };
  };
};

/** The same record if no member changes: most moves leave it as it is. */
const changed = <T>(
  record: Readonly<Record<string, T>>,
  change: (member: T) => T,
): Readonly<Record<string, T>> => {
  let same = true;
  const next: Record<string, T> = {};
  for (const [name, member] of Object.entries(record)) {
    const after = change(member);
    same &&= after === member;
    next[name] = after;
  }
  return same ? record : next;
};

/** Pods of one workload are interchangeable: states that differ only in their order are one state. */
const inOrder = (consumer: ModelConsumer): ModelConsumer => {
  if (consumer.pods.length < 2) return consumer;
  const pods = consumer.pods
    .map((pod) => ({ pod, key: JSON.stringify(pod) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ pod }) => pod);
  return { ...consumer, pods };
};
