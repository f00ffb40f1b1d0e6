import { day, duration, hour, type Instant, instant } from '@handover/material';
import {
  type Action,
  type Anchor,
  type AuthorityState,
  applyTransition,
  type ConsumerSeen,
  type LeafSeen,
  type Made,
  type ObjectSeen,
  type Observed,
  type Plan,
  type Policy,
  type Proof,
  plan,
} from '../src/index.ts';

export const T0: Instant = instant(Date.UTC(2030, 0, 1));
export const LIFETIME = duration(1000 * day);

export const anchor = (name: string, from: Instant = T0, lifetime: number = LIFETIME): Anchor => ({
  fingerprint: name,
  notBefore: instant(from - hour),
  notAfter: instant(from + lifetime),
});

/** A home in memory: what is there, what time it is, and the plan's actions done as a home would do them. */
export class Story {
  now: Instant = T0;
  authority: AuthorityState | undefined;
  objects = new Map<string, ObjectSeen>();
  consumers: ConsumerSeen[] = [];
  rotate: string[] = [];
  distrust: number[] = [];
  adoptable: Anchor[] = [];
  steadySince: Instant | undefined;
  doubt: Observed['clockDoubt'];
  policy: Policy = {
    lifetime: LIFETIME,
    rotate: { at: 0.8 },
    strategy: 'Phased',
    reloadWithin: duration(180_000),
    onBlocked: 'Wait',
    patience: duration(day),
    paused: false,
    maxConcurrentRollouts: 2,
    cacheLag: duration(10_000),
    consumersFound: true,
    leaves: [],
    bundles: [{ object: 'trust', extra: [] }],
  };

  leaf(object: string, lifetime = duration(90 * day)): this {
    const leaves = [...this.policy.leaves, { object, spec: 'v1', lifetime, renewAt: 0.66, createdAt: T0 }];
    this.policy = { ...this.policy, leaves };
    return this;
  }

  set(change: Partial<Policy>): this {
    this.policy = { ...this.policy, ...change };
    return this;
  }

  get seen(): Observed {
    return {
      authority: this.authority,
      objects: [...this.objects.values()],
      consumers: this.consumers,
      rotate: this.rotate,
      distrust: this.distrust,
      adoptable: this.adoptable,
      ...(this.steadySince === undefined ? {} : { steadySince: this.steadySince }),
      ...(this.doubt === undefined ? {} : { clockDoubt: this.doubt }),
    };
  }

  plan(): Plan {
    return plan(this.seen, this.policy, this.now);
  }

  pass(time: number): this {
    this.now = instant(this.now + time);
    return this;
  }

  /** Does what is planned until nothing is, and gives back everything done. */
  run(most = 50): Action[] {
    const done: Action[] = [];
    for (let round = 0; round < most; round++) {
      const { actions } = this.plan();
      if (actions.length === 0) return done;
      for (const action of actions) {
        this.act(action);
        done.push(action);
      }
    }
    throw new Error(`still busy after ${most} rounds: ${done.map((action) => action.kind).join(', ')}`);
  }

  act(action: Action): void {
    switch (action.kind) {
      case 'write-bundle':
      case 'write-leaf':
        this.objects.set(action.object, this.#written(action));
        return;
      case 'reissue': {
        const before = this.objects.get(action.object);
        if (before?.writtenBy === undefined || before.version !== action.expect)
          throw new Error(`conflict on ${action.object}`);
        this.objects.set(action.object, {
          ...before,
          version: String(Number(before.version) + 1),
          writtenBy: { ...before.writtenBy, asked: 'pending' },
        });
        return;
      }
      case 'stamp':
        this.consumers = this.consumers.map((consumer) =>
          consumer.id === action.consumer
            ? { ...consumer, workload: { stamp: action.stamp, rolling: true } }
            : consumer,
        );
        return;
      default: {
        const number = generationIn(action);
        const made: Made = {
          at: this.now,
          ca: anchor(`ca${number}`, this.now, this.policy.lifetime),
          cross: { fingerprint: `x${number}`, notAfter: instant(this.now + 100 * day) },
        };
        this.authority = applyTransition(this.authority, action, made, action.revision);
      }
    }
  }

  #written(action: Action & { kind: 'write-bundle' | 'write-leaf' }): ObjectSeen {
    const before = this.objects.get(action.object);
    if (before?.version !== action.expect) throw new Error(`conflict on ${action.object}`);
    const held = before?.anchors.map((one) => one.fingerprint).join() ?? '';
    return {
      id: action.object,
      version: String(Number(before?.version ?? 0) + 1),
      revision: action.revision,
      anchors: action.anchors.map((fingerprint) => ({
        fingerprint,
        since: before?.anchors.find((one) => one.fingerprint === fingerprint)?.since ?? this.now,
      })),
      changedAt: held === action.anchors.join() && before ? before.changedAt : this.now,
      leaf: action.kind === 'write-leaf' ? this.#leaf(action, before?.leaf) : undefined,
    };
  }

  #leaf(action: Action & { kind: 'write-leaf' }, before: LeafSeen | undefined): LeafSeen | undefined {
    const chain = action.chain ?? before?.chain ?? [];
    if (action.issue === undefined) return before && { ...before, chain };
    const { generation, notBefore, notAfter, othersExpire, replacesOne } = action.issue;
    const issuer =
      this.authority?.generations.find((one) => one.number === generation)?.anchors[0].fingerprint ?? '';
    return {
      fingerprint: `${action.object}-${this.now}`,
      issuer,
      chain,
      notBefore,
      notAfter,
      spec: this.policy.leaves.find((leaf) => leaf.object === action.object)?.spec ?? '',
      writtenAt: this.now,
      issuerSince: before?.issuer === issuer ? before.issuerSince : this.now,
      replacedOne: replacesOne,
      othersExpire,
    };
  }

  /** A consumer whose one process has been there for long and says nothing. */
  consumer(id: string, change: Partial<ConsumerSeen> = {}): this {
    this.consumers.push({
      id,
      reload: 'hot',
      ownersWord: false,
      blocks: true,
      presents: [],
      verifies: ['trust'],
      instances: [
        { uid: `${id}-1`, createdAt: instant(T0 - day), ready: true, stamp: undefined, proofs: [] },
      ],
      workload: { stamp: undefined, rolling: false },
      ...change,
    });
    return this;
  }

  /** Its process now says that it has loaded what its objects hold. */
  acknowledge(id: string, only?: Pick<Proof, 'anchors' | 'issuer' | 'leaves'>): this {
    this.consumers = this.consumers.map((consumer) => {
      if (consumer.id !== id) return consumer;
      const anchors =
        only?.anchors ??
        consumer.verifies.flatMap((o) => this.objects.get(o)?.anchors.map((a) => a.fingerprint) ?? []);
      const issuer = only?.issuer ?? consumer.presents.map((o) => this.objects.get(o)?.leaf?.issuer)[0];
      const proof = {
        by: 'acknowledged' as const,
        anchors,
        complete: true,
        at: this.now,
        ...(issuer === undefined ? {} : { issuer }),
        ...(only?.leaves === undefined ? {} : { leaves: only.leaves }),
      };
      return {
        ...consumer,
        instances: consumer.instances.map((instance) => {
          const chain = instance.proofs.find((one) => one.chain !== undefined)?.chain;
          return { ...instance, proofs: [chain === undefined ? proof : { ...proof, chain }] };
        }),
      };
    });
    return this;
  }

  /** A probe of its process sees what is sent behind the leaf. */
  shows(id: string, chain: 'sends' | 'strips'): this {
    this.consumers = this.consumers.map((consumer) => {
      if (consumer.id !== id) return consumer;
      const issuer = this.objects.get(consumer.presents[0] ?? '')?.leaf?.issuer;
      const proof = {
        by: 'probed' as const,
        chain,
        at: this.now,
        ...(issuer === undefined ? {} : { issuer }),
      };
      return {
        ...consumer,
        instances: consumer.instances.map((one) => ({ ...one, proofs: [...one.proofs, proof] })),
      };
    });
    return this;
  }

  acknowledgeAll(): this {
    for (const { id } of this.consumers) this.acknowledge(id);
    return this;
  }

  roles(): string {
    return (this.authority?.generations ?? []).map((one) => `${one.number}:${one.role}`).join(' ');
  }

  held(object: string): string {
    return (
      this.objects
        .get(object)
        ?.anchors.map((one) => one.fingerprint)
        .join(' ') ?? ''
    );
  }
}

const generationIn = (action: Action): number => {
  if (action.kind === 'mint' || action.kind === 'activate') return action.generation;
  return action.kind === 'distrust' ? (action.replacement?.generation ?? 0) : 0;
};

/** What a plan waits for, one line each. */
export const waits = (story: Story): string[] =>
  story.plan().blockedBy.map((one) => `${one.consumer}: ${one.waitsFor}`);
