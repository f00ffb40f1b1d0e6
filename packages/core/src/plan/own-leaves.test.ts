import { day, hour, type Instant, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { Story, T0, waits } from '../../test/story.ts';
import { recordExternalSigning } from './external-signing.ts';
import type { ConsumerSeen, InstanceSeen, ObjectSeen, Proof } from './observed.ts';

const OBJECT = 'own/podcertificates/web';

/** A pod, and the certificate of this CA that it is taken to have. */
const holder = (
  story: Story,
  {
    issuer,
    created,
    reload = 'unknown',
    proofs = [],
    blocks = true,
  }: {
    readonly issuer: string;
    readonly created: Instant;
    readonly reload?: 'hot' | 'unknown';
    readonly proofs?: readonly Proof[];
    readonly blocks?: boolean;
  },
): void => {
  const instance: InstanceSeen = { uid: 'u', createdAt: created, ready: true, stamp: undefined, proofs };
  const consumer: ConsumerSeen = {
    id: 'pod own/web',
    reload,
    ownersWord: reload === 'hot',
    blocks,
    presents: [OBJECT],
    verifies: [],
    instances: [instance],
    workload: undefined,
  };
  const object: ObjectSeen = {
    id: OBJECT,
    version: 'u',
    revision: undefined,
    anchors: [],
    changedAt: created,
    leaf: {
      fingerprint: `leaf-of-${issuer}`,
      issuer,
      chain: [],
      notBefore: created,
      notAfter: instant(T0 + 3 * day),
      spec: 'foreign',
      writtenAt: story.now,
      issuerSince: story.now,
      replacedOne: true,
      othersExpire: undefined,
    },
    writtenBy: { program: 'the kubelet', asked: 'never', ofOneProcess: true, since: created },
    ...(blocks ? {} : { elsewhere: true }),
  };
  story.objects.set(OBJECT, object);
  story.consumers = [...story.consumers.filter(({ id }) => id !== consumer.id), consumer];
};

/** Generation 2 signs. Generation 1 has signed for pods, up to T0 + 3 days. */
const activated = (elsewhere: { readonly elsewhere?: 'unnamed' } = {}): Story => {
  const story = new Story();
  story.policy = { ...story.policy, consumersFound: true };
  story.run();
  if (story.authority !== undefined)
    story.authority =
      recordExternalSigning(story.authority, {
        notAfter: instant(T0 + 3 * day),
        isUnseen: false,
        forPod: true,
        ...elsewhere,
      }) ?? story.authority;
  story.pass(hour).rotate.push('now');
  for (let step = 0; step < 20 && story.roles() !== '2:current 1:previous'; step++) {
    const { actions } = story.plan();
    for (const action of actions) story.act(action);
    if (actions.length === 0) story.pass(hour);
  }
  story.run();
  return story;
};

const waitOf = (story: Story): string | undefined =>
  story.plan().blockedBy.find(({ consumer }) => consumer === 'pod own/web')?.waitsFor;

test('a pod with a certificate of the old CA is waited for until its last certificate has ended, and no longer', () => {
  const story = activated();
  holder(story, { issuer: 'ca1', created: T0 });
  expect(waitOf(story)).toMatch(
    /^to get a certificate of CA generation 2, at the latest until 2030-01-04T01:00/,
  );
  story.pass(3 * day);
  expect(story.run().map(({ kind }) => kind)).toContain('retire');
});

test('a new certificate alone does not show that its pod has loaded it; its owner’s word or a proof does', () => {
  const story = activated();
  holder(story, { issuer: 'ca2', created: T0 });
  expect(waitOf(story)).toContain('to load its new certificate');
  story.pass(hour);
  expect(waitOf(story)).toContain('to load its new certificate');
  holder(story, { issuer: 'ca2', created: T0, reload: 'hot' });
  story.pass(hour);
  expect(story.run().map(({ kind }) => kind)).toContain('retire');
});

test('a proof of a pod counts though its certificate is not known any more', () => {
  const story = activated();
  const proofs: readonly Proof[] = [{ by: 'probed', issuer: 'ca2', at: story.now }];
  holder(story, { issuer: 'ca1', created: T0, proofs });
  story.pass(hour);
  expect(waits(story)).toEqual([]);
});

test('a pod of another namespace holds no rotation up: the old CA stays trusted until its last certificate has ended', () => {
  const story = activated({ elsewhere: 'unnamed' });
  holder(story, { issuer: 'ca1', created: T0, blocks: false });
  story.pass(hour);
  expect(story.run()).toMatchObject([
    { kind: 'retire', retain: { elsewhere: { objects: [], unnamedUntil: T0 + 3 * day } } },
    { kind: 'write-bundle' },
  ]);
  expect(story.roles()).toBe('2:current 1:retained');
  story.pass(3 * day);
  expect(story.run().map(({ kind }) => kind)).toEqual(['drop', 'write-bundle']);
});

test('a pod that is younger than the new CA has never had another certificate', () => {
  const story = activated();
  holder(story, { issuer: 'ca2', created: story.pass(hour).now });
  story.pass(hour);
  expect(story.run().map(({ kind }) => kind)).toContain('retire');
});

test('the end of the last certificate for a pod has a date of its own, which outlasts a step that was decided before', () => {
  const story = activated();
  const [, previous] = story.authority?.generations ?? [];
  expect(previous).toMatchObject({ role: 'previous', podsUntil: T0 + 3 * day });
  expect(previous?.lentUntil).toBeUndefined();
});
