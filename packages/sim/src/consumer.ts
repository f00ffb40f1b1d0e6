import { type InstanceSeen, type Proof, type Stamp, withRole } from '@handover/core';
import type { ConsumerFound } from '@handover/engine';
import { type Instant, second } from '@handover/material';
import type { Class, PeerStanding } from './handshakes.ts';
import { type Content, conflict, type SimulatedStore } from './store.ts';
import type { SimulatedSurroundings, Traits } from './traits.ts';

/** One process of a consumer. */
export interface Process {
  readonly uid: string;
  readonly createdAt: Instant;
  readonly stamp: Stamp | undefined;
  ready: boolean;
  begun: boolean;
  leaving: boolean;
  ended: boolean;
  readonly loaded: Map<string, Content>;
  readonly reported: Map<string, Content>;
  readonly classes: Map<string, Class>;
  whenReady: (() => void) | undefined;
}

/** A status document names all trusted CAs; a canary shows only whether one CA is accepted. */
const shownTrust = (
  evidence: Traits['evidence'],
  { anchors }: Content,
  { state }: SimulatedStore,
): Pick<Proof, 'anchors' | 'complete' | 'refuses'> => {
  if (evidence === 'acknowledged') return { anchors, complete: true };
  const tried = state?.generations.flatMap((item) => item.anchors) ?? [];
  const refuses = tried.map((anchor) => anchor.fingerprint).filter((item) => !anchors.includes(item));
  return { anchors, refuses };
};

/** Whether it sends the cross-certificate of the CA that signs now, where there is one to see. */
const shownChain = (
  { chain = [], issuer }: Content,
  isStripped: boolean,
  { state }: SimulatedStore,
): Pick<Proof, 'chain'> => {
  const current = state && withRole(state, 'current');
  const cross = state?.crosses.find(({ of }) => of === current?.number);
  if (cross === undefined || issuer !== current?.anchors[0].fingerprint) return {};
  return { chain: !isStripped && chain.includes(cross.fingerprint) ? 'sends' : 'strips' };
};

/** A process as the home sees it. */
export const instanceOf = (
  { uid, createdAt, ready, stamp, reported }: Process,
  { evidence, verifies, presents, stripsCross }: Traits,
  store: SimulatedStore,
): InstanceSeen => {
  const proofs: Proof[] = [];
  if (evidence !== 'none') {
    for (const [object, content] of reported) {
      const leaf = presents.includes(object) ? content.chain?.[0] : undefined;
      proofs.push({
        by: evidence,
        object,
        at: createdAt,
        ...(verifies.includes(object) ? shownTrust(evidence, content, store) : {}),
        ...(leaf === undefined || content.issuer === undefined
          ? {}
          : { issuer: content.issuer, ...shownChain(content, stripsCross, store) }),
      });
    }
  }
  return { uid, createdAt, ready, stamp, proofs };
};

/** One workload and its processes: what they have loaded, their evidence, and their rollouts. */
export class Consumer {
  readonly traits: Traits;
  readonly objects: readonly string[];
  readonly #around: SimulatedSurroundings;
  readonly #standing: PeerStanding;
  #processes: Process[] = [];
  #seen: ConsumerFound | undefined;
  #stamp: Stamp | undefined;
  #rolling = false;
  /** Version of its workload: changes with it. */
  #version = 0;
  #born = 0;

  constructor(traits: Traits, around: SimulatedSurroundings) {
    this.traits = traits;
    this.#around = around;
    this.objects = [...new Set([...traits.presents, ...traits.verifies])];
    this.#standing = {
      known: traits.declared && traits.blocks,
      stuck: traits.stuck !== undefined,
      strips: traits.stripsCross,
      elsewhere: !traits.blocks,
    };
  }

  /** Starts at the beginning, with the content of its objects. */
  settle(createdAt: Instant): void {
    for (let pod = 0; pod < this.traits.pods; pod++) {
      const process = this.#add(createdAt, undefined);
      process.begun = true;
      process.ready = true;
      for (const object of this.objects) {
        const content = this.#around.store.latest(object);
        if (content === undefined) continue;
        this.#take(process, object, content);
        process.reported.set(object, content);
      }
    }
  }

  /** Starts in the middle, from caches that may be old. */
  appear(): void {
    for (let pod = 0; pod < this.traits.pods; pod++) this.#create();
  }

  /** One of its pods is evicted and created again. */
  replaceOne(): void {
    const old = this.#processes.find((process) => process.begun && !process.leaving);
    if (old === undefined || this.traits.reload === 'field' || this.traits.stuck !== undefined) return;
    this.#around.log(() => `${old.uid} is evicted`);
    this.#create();
    this.#dismiss(old);
  }

  /** Its owner restarts it by hand. */
  visited(): void {
    for (const process of this.#processes) {
      for (const object of this.objects) {
        const content = this.#around.store.latest(object);
        if (content !== undefined) this.#take(process, object, content);
      }
    }
  }

  depart(): void {
    for (const process of this.#processes) if (!process.leaving) this.#dismiss(process);
  }

  written(object: string, content: Content): void {
    for (const process of this.#processes) {
      if (!process.begun) {
        if (process.whenReady === undefined) continue;
        if (this.objects.every((item) => this.#around.store.latest(item) !== undefined)) {
          this.#around.later(second, () => this.#begin(process));
        }
      } else if (this.traits.reload !== 'restart') this.#loadLater(process, object, content);
    }
  }

  /** Changes its template, if its workload is still at that version. */
  stamp(expect: string, stamp: Stamp): void {
    if (expect !== `${this.#version}`) throw conflict(this.traits.id);
    this.#stamp = stamp;
    this.#version++;
    this.#changed();
    if (!this.#rolling) {
      this.#rolling = true;
      this.#rollNext();
    }
  }

  get gone(): boolean {
    return this.#processes.length === 0;
  }

  /** The authority has other CAs now: probes show something else, and there may be a cross-certificate to see. */
  askedAgain(): void {
    if (this.traits.evidence !== 'none') this.#changed();
  }

  seen(): ConsumerFound {
    this.#seen ??= this.#look();
    return this.#seen;
  }

  #look(): ConsumerFound {
    const { id, reload, ownersWord, blocks, presents, verifies, workload } = this.traits;
    return {
      id,
      reload,
      ownersWord,
      blocks,
      presents,
      verifies,
      instances:
        reload === 'field'
          ? []
          : this.#processes.map((process) => instanceOf(process, this.traits, this.#around.store)),
      workload: workload ? { stamp: this.#stamp, rolling: this.#rolling } : undefined,
      ...(workload ? { workloadVersion: `${this.#version}` } : {}),
    };
  }

  #changed(): void {
    this.#seen = undefined;
    this.#around.consumersChanged();
  }

  #add(createdAt: Instant, stamp: Stamp | undefined): Process {
    const process: Process = {
      uid: `${this.traits.id}-${this.#born++}`,
      createdAt,
      stamp,
      ready: false,
      begun: false,
      leaving: false,
      ended: false,
      loaded: new Map(),
      reported: new Map(),
      classes: new Map(),
      whenReady: undefined,
    };
    this.#processes.push(process);
    this.#changed();
    return process;
  }

  #create(whenReady: () => void = () => {}): void {
    const { random, store } = this.#around;
    const process = this.#add(store.now, this.#stamp);
    process.whenReady = whenReady;
    this.#around.log(() => `${process.uid} is created`);
    this.#around.later(random.chance(0.3) ? 0 : random.between(0, 3 * second), () => this.#begin(process));
  }

  /** Reads its files from the node's cache. */
  #begin(process: Process): void {
    if (process.begun || process.ended) return;
    const { random, store, cacheLag } = this.#around;
    const asOf = this.#around.time() - random.between(0, cacheLag);
    const found: [string, Content][] = [];
    for (const object of this.objects) {
      const content = store.contentAt(object, asOf);
      if (content === undefined) {
        // Not written yet: it starts after the write. Written, but not in the cache: try again soon.
        if (store.latest(object) !== undefined) this.#around.later(second, () => this.#begin(process));
        return;
      }
      found.push([object, content]);
    }
    process.begun = true;
    for (const [object, content] of found) {
      if (content !== store.latest(object)) this.#around.happened('stale-caches');
      this.#take(process, object, content);
      const latest = store.latest(object);
      if (latest !== undefined && latest !== content && this.traits.reload !== 'restart') {
        this.#loadLater(process, object, latest);
      }
    }
    this.#around.later(random.between(500, 5 * second), () => {
      if (process.ended) return;
      process.ready = true;
      this.#changed();
      process.whenReady?.();
    });
  }

  #loadLater(process: Process, object: string, content: Content): void {
    const { delay, stuck, clumsy, punctual } = this.traits;
    if (stuck === 'never') {
      this.#around.happened('never-reloads');
      return;
    }
    const { random } = this.#around;
    const wait = punctual === true ? delay : random.between(0, delay);
    this.#around.later(wait, () => {
      if (process.ended) return;
      if (stuck === 'garbage' || (clumsy && random.chance(0.4))) {
        this.#around.happened('garbage');
        this.#around.log(() => `${process.uid} reads garbage and keeps what it has`);
        if (stuck === undefined) this.#loadLater(process, object, content);
        return;
      }
      this.#take(process, object, this.#onDisk(object, wait) ?? content);
    });
  }

  /** The content of its files now: as old as the node's lag allows, but not older than the write that it loads. */
  #onDisk(object: string, wait: number): Content | undefined {
    const { store, random, cacheLag, volumeLag } = this.#around;
    if (this.traits.reload === 'field') return undefined;
    const lag = random.chance(0.3) ? volumeLag : cacheLag;
    return store.contentAt(object, this.#around.time() - random.between(0, Math.min(wait, lag)));
  }

  #take(process: Process, object: string, content: Content): void {
    if ((process.loaded.get(object)?.order ?? -1) >= content.order) return;
    process.loaded.set(object, content);
    const { presents, verifies, stripsCross, evidence, reportDelay } = this.traits;
    const { handshakes } = this.#around;
    const join = (role: string, enter: () => Class): void => {
      const before = process.classes.get(`${role}${object}`);
      if (before !== undefined) handshakes.leave(before, process.uid);
      process.classes.set(`${role}${object}`, enter());
    };
    const { chain, issuer } = content;
    if (presents.includes(object) && chain !== undefined && issuer !== undefined) {
      if (stripsCross && chain.length > 1) this.#around.happened('strips');
      const shown = stripsCross ? chain.slice(0, 1) : chain;
      join('p', () => handshakes.present(process.uid, shown, issuer, this.#standing));
    }
    if (verifies.includes(object))
      join('v', () => handshakes.verify(process.uid, content.anchors, this.#standing));
    this.#around.log(() => `${process.uid} loads ${object} as of write ${content.order}`);
    if (evidence === 'none') return;
    this.#around.later(reportDelay, () => {
      if (process.ended || (process.reported.get(object)?.order ?? -1) >= content.order) return;
      process.reported.set(object, content);
      this.#changed();
    });
  }

  /** Terminating: it still serves for a while, and still counts. */
  #dismiss(process: Process): void {
    if (process.leaving) return;
    process.leaving = true;
    const { random } = this.#around;
    this.#around.later(random.chance(0.3) ? 0 : random.between(0, 30 * second), () => {
      process.ended = true;
      for (const group of process.classes.values()) this.#around.handshakes.leave(group, process.uid);
      this.#processes = this.#processes.filter((other) => other !== process);
      this.#around.log(() => `${process.uid} ends`);
      this.#changed();
    });
  }

  #rollNext(): void {
    const old = this.#processes.find((process) => !process.leaving && process.stamp !== this.#stamp);
    if (old === undefined) {
      this.#rolling = false;
      this.#version++;
      this.#changed();
      return;
    }
    this.#create(() => {
      this.#dismiss(old);
      this.#rollNext();
    });
  }
}
