import { day, duration, hour, instant } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { Story, T0, waits } from '../../test/story.ts';
import { explain } from './explain.ts';
import { recordExternalSigning } from './external-signing.ts';
import type { ObjectSeen, WrittenBy } from './observed.ts';

/** A Secret that cert-manager writes, with a leaf of the given CA. */
const lent = (
  story: Story,
  id: string,
  issuer: string,
  by: Partial<WrittenBy> = {},
  more: Partial<ObjectSeen> = {},
): void => {
  const at = story.now;
  story.objects.set(id, {
    id,
    version: '1',
    revision: undefined,
    anchors: [{ fingerprint: issuer, since: at }],
    changedAt: at,
    leaf: {
      fingerprint: `${id}-of-${issuer}`,
      issuer,
      chain: [],
      notBefore: instant(at - hour),
      notAfter: instant(at + 90 * day),
      spec: 'lent',
      writtenAt: at,
      issuerSince: at,
      replacedOne: false,
      othersExpire: undefined,
    },
    writtenBy: { program: 'cert-manager', asked: 'can', ...by },
    ...more,
  });
};

/** Generation 2 signs, and the Secrets still hold leaves of generation 1. */
const activated = (put: (story: Story) => void): Story => {
  const story = new Story();
  story.run();
  put(story);
  story.pass(hour).rotate.push('now');
  for (let step = 0; step < 10 && story.roles() !== '2:current 1:previous'; step++)
    for (const action of story.plan().actions) if (action.kind !== 'reissue') story.act(action);
  for (const action of story.plan().actions) if (action.kind === 'write-bundle') story.act(action);
  return story;
};

const asked = (story: Story): readonly string[] =>
  story.plan().actions.flatMap((action) => (action.kind === 'reissue' ? [action.object] : []));

test('a Secret that another program writes is asked for a new leaf when another CA signs, never written, and holds gate 2 until the leaf is there', () => {
  const story = activated((one) => lent(one, 'cm', 'ca1'));
  const [action] = story.plan().actions;
  expect(action).toEqual({ kind: 'reissue', object: 'cm', expect: '1', why: 'CA generation 2 signs now' });
  expect(explain(story.plan())[0]).toBe('Ask for a new leaf in cm, because CA generation 2 signs now.');
  story.run();
  story.pass(day);
  expect(asked(story)).toEqual([]);
  expect(waits(story)).toContain('cm: to get a leaf of CA generation 2 from cert-manager');
  lent(story, 'cm', 'ca2', { since: T0 });
  story.pass(hour);
  expect(waits(story)).toEqual([
    expect.stringContaining('annotate its Certificate with handover.dev/reload'),
  ]);
  story.consumer('web', { presents: ['cm'], verifies: ['cm'] }).acknowledgeAll();
  expect(story.run().map(({ kind }) => kind)).toEqual(['retire', 'write-bundle']);
});

test('a Secret of another program that came after the old CA had signed last never held a leaf of it', () => {
  const story = activated(() => undefined);
  story.pass(hour);
  lent(story, 'cm', 'ca2', { since: story.now });
  story.pass(hour);
  expect(story.run().map(({ kind }) => kind)).toEqual(['retire', 'write-bundle']);
});

test('a Secret of another program that renews unasked is only waited for, with the end of its leaf', () => {
  const story = activated((one) => lent(one, 'pod', 'ca1', { program: 'kubelet', asked: 'never' }));
  expect(asked(story)).toEqual([]);
  expect(waits(story)).toContain(
    'pod: to get a leaf of CA generation 2 from kubelet (kubelet renews it without being asked; its old leaf ends at 2030-04-01T00:00:00.000Z)',
  );
});

test('a Secret of another program that fails is named with the reason', () => {
  const failing = 'Certificate cm: denied by policy';
  const story = activated((one) => lent(one, 'cm', 'ca1', { asked: 'pending', failing }));
  expect(waits(story).join()).toContain(`from cert-manager (${failing}; its old leaf ends at`);
});

test('a Secret of another program without a valid leaf of the old CA holds nothing up', () => {
  const story = activated((one) => lent(one, 'cm', 'ca1', { asked: 'pending' }));
  story.pass(91 * day);
  expect(story.run().map(({ kind }) => kind)).toEqual(['retire', 'write-bundle']);
});

test('a Secret that another program writes is asked again when its bundle holds a distrusted CA', () => {
  const story = new Story();
  story.run();
  story.rotate.push('now');
  story.act(story.plan().actions[0] ?? expect.fail('no mint'));
  lent(
    story,
    'cm',
    'ca1',
    {},
    { anchors: ['ca2', 'ca1'].map((fingerprint) => ({ fingerprint, since: T0 })) },
  );
  story.distrust.push(2);
  story.act(story.plan().actions[0] ?? expect.fail('no distrust'));
  expect(story.roles()).toBe('2:distrusted 1:current');
  expect(story.plan().actions.find(({ kind }) => kind === 'reissue')).toMatchObject({
    object: 'cm',
    why: 'its bundle holds CA generation 2, which is distrusted',
  });
});

describe('waves', () => {
  const names = Array.from({ length: 30 }, (_, index) => `cm${index}`);

  test('waves of reissues leave at most 20 new leaves on their way, those that are pending included', () => {
    const story = activated((one) => {
      names.forEach((id, index) => {
        lent(one, id, 'ca1', { asked: index < 5 ? 'pending' : 'can' });
      });
    });
    expect(asked(story)).toEqual(names.slice(5, 20));
    story.run();
    expect(asked(story)).toEqual([]);
    lent(story, 'cm0', 'ca2');
    expect(asked(story)).toEqual(['cm20']);
  });

  test('waves of reissues go on past leaves that fail', () => {
    const story = activated((one) => {
      names.forEach((id, index) => {
        lent(one, id, 'ca1', index < 20 ? { asked: 'pending', failing: 'no' } : {});
      });
    });
    expect(asked(story)).toEqual(names.slice(20));
  });

  test('waves of reissues go on past leaves that are slow, such as those without approval', () => {
    const remark = 'CertificateRequest cm0-2 is not approved since yesterday';
    const story = activated((one) => {
      names.forEach((id, index) => {
        lent(one, id, 'ca1', index < 20 ? { asked: 'pending', remark } : {});
      });
    });
    expect(asked(story)).toEqual(names.slice(20));
  });

  test('waves of reissues in another namespace delay that namespace only', () => {
    const story = activated((one) => {
      names.forEach((id) => {
        lent(one, id, 'ca1', { asked: 'pending', namespace: 'evil' }, { elsewhere: true });
      });
      lent(one, 'good', 'ca1', { namespace: 'good' }, { elsewhere: true });
      lent(one, 'evil', 'ca1', { namespace: 'evil' }, { elsewhere: true });
      lent(one, 'own', 'ca1');
    });
    expect(asked(story)).toEqual(['good', 'own']);
  });
});

test('a leaf of another namespace holds no rotation up, and its CA stays trusted until it has ended', () => {
  const story = activated((one) => {
    lent(one, 'far', 'ca1', { asked: 'pending' }, { elsewhere: true });
    const asked = { notAfter: instant(one.now + 90 * day), isUnseen: false, elsewhere: { object: 'far' } };
    one.authority = one.authority && recordExternalSigning(one.authority, asked);
  });
  story.pass(hour);
  expect(story.run().map(({ kind }) => kind)).toEqual(['retire', 'write-bundle']);
  story.pass(80 * day);
  expect(story.plan().actions).toEqual([]);
  expect(story.held('trust')).toBe('ca2 ca1');
  story.pass(11 * day);
  expect(story.run().map(({ kind }) => kind)).toEqual(['drop', 'write-bundle']);
  expect(story.held('trust')).toBe('ca2');
});

describe('a Secret that is gone', () => {
  const lost = (story: Story): void => {
    const since = story.now;
    lent(story, 'cm', 'ca2', { asked: 'never', gone: true }, { anchors: [{ fingerprint: 'ca2', since }] });
  };

  test('a Secret that is gone holds nothing up while no consumer is known to read it', () => {
    const story = activated((one) => lent(one, 'cm', 'ca1'));
    lost(story);
    story.pass(hour);
    expect(story.run().map(({ kind }) => kind)).toEqual(['retire', 'write-bundle']);
  });

  test('a Secret that is gone holds a rotation up by a process that began before, until that process has begun anew', () => {
    const story = activated((one) => {
      lent(one, 'cm', 'ca1');
      one.consumer('web', { reload: 'unknown', presents: ['cm'], verifies: [], workload: undefined });
    });
    lost(story);
    story.pass(day);
    expect(waits(story)).toEqual(['web: to load a leaf of CA generation 2']);
    const anew = { uid: 'web-2', createdAt: story.now, ready: true, stamp: undefined, proofs: [] };
    story.consumers = story.consumers.map((one) => ({ ...one, instances: [anew] }));
    story.pass(hour);
    expect(story.run().map(({ kind }) => kind)).toEqual(['retire', 'write-bundle']);
  });
});

test('leaves that no object shows hold no rotation up, and their CA stays trusted until they have ended', () => {
  const story = activated(() => undefined);
  const end = instant(story.now + 30 * day);
  const authority = story.authority ?? expect.fail('no authority');
  story.authority = {
    ...authority,
    generations: authority.generations.map((one) => (one.number === 1 ? { ...one, unseenUntil: end } : one)),
  };
  story.set({ patienceElsewhere: duration(0) }).pass(hour);
  expect(story.run().map(({ kind }) => kind)).toEqual(['retire', 'write-bundle']);
  expect(story.roles()).toBe('2:current 1:retained');
  expect(story.plan().notes.map(({ message }) => message)).toEqual([
    `stays trusted, its key destroyed, for leaves whose users cannot be seen, until ${new Date(end + hour).toISOString().slice(0, 10)} at most`,
  ]);
  story.pass(duration(29 * day));
  expect(story.run()).toEqual([]);
  expect(story.plan().wakeAt).toBe(end + hour);
  story.pass(day);
  expect(story.run().map(({ kind }) => kind)).toEqual(['drop', 'write-bundle']);
});
