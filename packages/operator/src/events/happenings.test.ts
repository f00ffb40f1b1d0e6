import {
  type Blocker,
  type ConsumerSeen,
  Contended,
  type Note,
  type Obstacle,
  type Plan,
  type Stamp,
} from '@handover/core';
import type { AuthorityOutcome } from '@handover/engine';
import { hour, type Instant, instant, minute } from '@handover/material';
import { expect, test } from 'vitest';
import { Happenings } from './happenings.ts';

const T0 = instant(Date.UTC(2030, 0, 1));

interface Scene extends Partial<Plan> {
  readonly now?: Instant;
  readonly revision?: number;
  readonly generations?: number;
  readonly consumers?: readonly Partial<ConsumerSeen>[];
  readonly obstacles?: Readonly<Record<string, Obstacle>>;
  readonly refused?: readonly { readonly leaf: string; readonly why: string }[];
}

/** Only what is looked at. */
const outcome = (scene: Scene): Pick<AuthorityOutcome, 'observation' | 'plan'> =>
  ({
    plan: {
      phase: 'Stable',
      actions: [],
      blockedBy: [],
      notes: [],
      retained: [],
      wakeAt: undefined,
      ...scene,
    },
    observation: {
      now: scene.now ?? T0,
      record: {
        state: {
          revision: scene.revision ?? 1,
          generations: Array.from({ length: scene.generations ?? 1 }, (_, index) => ({ number: 2 - index })),
        },
      },
      responsibilities: {
        leaves: new Map(),
        refused: scene.refused ?? [],
        policy: { patience: hour, onBlocked: 'Wait' },
      },
      seen: {
        consumers: (scene.consumers ?? []).map((one) => ({ presents: [], instances: [], ...one })),
        objects: Object.entries(scene.obstacles ?? {}).map(([id, obstacle]) => ({ id, obstacle })),
      },
    },
  }) as unknown as Pick<AuthorityOutcome, 'observation' | 'plan'>;

const teller = () => {
  const happenings = new Happenings();
  return (scene: Scene): string[] =>
    happenings
      .after('shop/mesh', outcome(scene))
      .map(({ reason, note, leaf }) => `${reason}${leaf === undefined ? '' : ` on ${leaf}`}: ${note}`);
};
const blocker = (consumer: string, waitsFor = 'to load CA generation 2'): Blocker => ({
  consumer,
  waitsFor,
  since: T0,
});

test('Events report each step of a rotation and its end', () => {
  const tell = teller();
  const swap = { expect: 1, revision: 2, why: 'it is time' };
  const mint = { ...swap, kind: 'mint', generation: 2, as: 'next', id: 'x', adopts: undefined } as const;
  expect(tell({ actions: [mint] })[0]).toMatch(
    /^GenerationMinted: Create CA generation 2 .*because it is time/,
  );
  const activate = { ...swap, kind: 'activate', generation: 2, crossBy: 1 } as const;
  expect(tell({ actions: [activate], generations: 2 })[0]).toMatch(/^GenerationActivated: /);
  const retire = { ...swap, kind: 'retire', generation: 1 } as const;
  expect(tell({ actions: [retire], generations: 2 })[0]).toMatch(/^GenerationRetired: /);
  expect(tell({ phase: 'Retiring' })).toEqual([]);
  expect(tell({})).toEqual([
    'RotationDone: CA generation 2 is the only one in use, and every object holds it.',
  ]);
  expect(tell({})).toEqual([]);
  const distrust = { ...swap, kind: 'distrust', generations: [1], replacement: undefined } as const;
  expect(tell({ actions: [distrust] })[0]).toMatch(/^GenerationDistrusted: /);
  const done = { ...swap, kind: 'distrust-done', generations: [1] } as const;
  expect(tell({ actions: [done], generations: 2 })[0]).toMatch(/^DistrustDone: /);
});

test('Events report a CA that stays trusted without its key once, and that it was dropped', () => {
  const happenings = new Happenings();
  const tell = (scene: Scene) =>
    happenings.after('shop/mesh', outcome(scene)).map(({ type, reason, note }) => ({ type, reason, note }));
  const user = 'Deployment pay/api (restart pending)';
  const message = `stays trusted, its key destroyed, for 1 workload elsewhere: ${user}, until 2030-02-01 at most`;
  const notes = [{ code: 'Retained', object: 'CA generation 1', message }] as const;
  expect(tell({ notes })).toEqual([
    { type: 'Normal', reason: 'Retained', note: `CA generation 1: ${message}` },
  ]);
  expect(tell({ notes, now: instant(T0 + 2 * hour) })).toEqual([]);
  const retained = {
    generation: 1,
    since: T0,
    until: instant(T0 + hour),
    unseen: false,
    overtakes: false,
    neverHeldKey: false,
    isLast: false,
  } as const;
  const dropped = (elsewhere: readonly string[], why: string, unseen = false) =>
    tell({
      actions: [{ kind: 'drop', generation: 1, expect: 1, revision: 2, why }],
      retained: [{ ...retained, elsewhere, unseen }],
    });
  const why = 'every workload in other namespaces shows a leaf of a newer CA';
  expect(dropped([], why)).toEqual([
    {
      type: 'Normal',
      reason: 'GenerationDropped',
      note: `Drop CA generation 1, whose key is destroyed, from every bundle, because ${why}.`,
    },
  ]);
  const overtaking = `issueTo.patience has passed, although ${user} may still use a leaf of it`;
  expect(dropped([user], overtaking)).toMatchObject([
    { type: 'Warning', reason: 'GenerationDropped', note: expect.stringContaining(user) },
  ]);
  expect(dropped([], '8 newer CAs are retained', true)).toMatchObject([{ type: 'Warning' }]);
});

test('a first install has no Event for the end of a rotation', () => {
  expect(teller()({})).toEqual([]);
});

test('an Event names new blockers once for each step, and not in every pass', () => {
  const tell = teller();
  const phase = 'Introducing';
  const waiting = [blocker('a'), blocker('a', 'to restart'), blocker('b')];
  expect(tell({ phase, generations: 2, blockedBy: waiting })).toEqual([
    'WaitingFor: Introducing: waiting for a to restart; waiting for b to load CA generation 2',
  ]);
  expect(tell({ phase, generations: 2, blockedBy: [blocker('a', 'another pod'), blocker('b')] })).toEqual([]);
  expect(tell({ phase, generations: 2, blockedBy: [blocker('c'), blocker('b')] })).toEqual([
    'WaitingFor: Introducing: waiting for c to load CA generation 2',
  ]);
  expect(tell({ phase: 'Activating', revision: 2, generations: 2, blockedBy: [blocker('a')] })).toEqual([
    'WaitingFor: Activating: waiting for a to load CA generation 2',
  ]);
});

test('thousands of blockers that come and go cause at most five Events a step, of ten names each', () => {
  const tell = teller();
  const told: string[] = [];
  for (let look = 0; look < 100; look++) {
    const blockedBy = Array.from({ length: 50 }, (_, index) => blocker(`pod-${look}-${index}`));
    told.push(...tell({ phase: 'Activating', generations: 2, blockedBy }));
  }
  expect(told).toHaveLength(5);
  expect(told[0]?.match(/pod-/g)).toHaveLength(10);
  expect(told[0]).toContain('and 40 more to load CA generation 2');
});

test('one Event reports that patience is over, with what follows', () => {
  const tell = teller();
  const scene = { phase: 'Activating', generations: 2, blockedBy: [blocker('a')] } as const;
  tell(scene);
  expect(tell({ ...scene, now: instant(T0 + hour) })).toEqual([
    'PatienceOver: Activating: waited longer than rotation.patience for a; rotation.onBlocked is Wait',
  ]);
  expect(tell({ ...scene, now: instant(T0 + 2 * hour) })).toEqual([]);
});

const note = (code: Note['code'], object: string): Note => ({ code, object, message: 'so' });

test('one Event reports all new warnings of a kind, and a warning again only after it was gone', () => {
  const tell = teller();
  const both = [note('CannotRestart', 'a'), note('CannotRestart', 'b')];
  expect(tell({ notes: both })).toEqual(['CannotRestart: a: so; b: so']);
  expect(tell({ notes: both, now: instant(T0 + 2 * hour) })).toEqual([]);
  expect(tell({ notes: [note('CannotRestart', 'b')] })).toEqual([]);
  expect(tell({ notes: both })).toEqual(['CannotRestart: a: so']);
});

test('an Event for a CA near its end is repeated before an API server forgets it', () => {
  const tell = teller();
  const notes = [note('Critical', 'CA generation 1')];
  expect(tell({ notes })).toEqual(['Critical: CA generation 1: so']);
  expect(tell({ notes, now: instant(T0 + 49 * minute) })).toEqual([]);
  expect(tell({ notes, now: instant(T0 + 50 * minute) })).toEqual(['Critical: CA generation 1: so']);
});

test('a passed deadline is an Event beside the step that it causes', () => {
  const tell = teller();
  const activate = {
    kind: 'activate',
    generation: 2,
    crossBy: 1,
    expect: 1,
    revision: 2,
    why: 'so',
  } as const;
  const notes = [note('DeadlinePassed', 'rotation'), note('CannotRestart', 'a')];
  expect(tell({ actions: [activate], notes, generations: 2 }).map((text) => text.split(':')[0])).toEqual([
    'GenerationActivated',
    'DeadlinePassed',
  ]);
});

test('an Event reports a fight over an object when it begins, and not again for each next try', () => {
  const tell = teller();
  expect(tell({ obstacles: { x: new Contended('old-pod', instant(0)), y: 'forbidden' } })).toEqual([
    'Contended: x: old-pod keeps changing it back; stop one of the two (next try at 1970-01-01T00:00:00.000Z)',
    'CannotWrite: y: forbidden',
  ]);
  expect(tell({ obstacles: { x: new Contended('old-pod', instant(1_000)), y: 'forbidden' } })).toEqual([]);
});

test('a refusal is an Event of the refused Leaf', () => {
  expect(teller()({ refused: [{ leaf: 'other/web', why: 'not allowed' }] })).toEqual([
    'Refused on other/web: Leaf other/web: not allowed',
  ]);
});

test('Events report the start and the end of a rollout', () => {
  const tell = teller();
  const stamp: Stamp = { trust: 2, distrusts: 0 };
  const consumer = (own: Stamp | undefined, rolling: boolean, pods: Stamp | undefined) => ({
    consumers: [
      {
        id: 'Deployment shop/web',
        workload: { stamp: own, rolling, warning: 'it is away' },
        instances: [{ uid: '1', createdAt: T0, ready: true, stamp: pods, proofs: [] }],
      },
    ],
  });
  expect(tell(consumer(undefined, false, undefined))).toEqual([]);
  expect(tell(consumer(stamp, true, undefined))).toEqual([
    'RolloutStarted: Restarting Deployment shop/web (CA generation 2 is in its files; beware: it is away)',
  ]);
  expect(tell(consumer(stamp, true, stamp))).toEqual([]);
  expect(tell(consumer(stamp, false, undefined))).toEqual([]);
  expect(tell(consumer(stamp, false, stamp))).toEqual(['RolloutEnded: Restarted: Deployment shop/web']);
  expect(tell(consumer(stamp, false, stamp))).toEqual([]);
  // A replica that begins to lead in the middle does not take an old stamp for a new one.
  expect(teller()(consumer(stamp, false, stamp))).toEqual([]);
});

test('a failing workload of another namespace is no Event of the Authority', () => {
  const tell = teller();
  const consumers = [{ id: 'Deployment evil/x', blocks: false, workload: undefined }];
  const note: Note = { code: 'CannotRestart', object: 'Deployment evil/x', message: 'call this number' };
  expect(tell({ consumers, notes: [note] })).toEqual([]);
  expect(tell({ consumers: [], notes: [{ ...note, object: 'Deployment shop/x' }] })).toHaveLength(1);
});
