import { day, minute } from '@handover/material';
import { expect, test } from 'vitest';
import { Story, T0 } from '../../test/story.ts';
import type { ConsumerSeen, Proof, Unread } from './observed.ts';
import { type RestsOnTime, restsOnTime, restsText } from './rests-on-time.ts';
import { shownFor } from './shown.ts';

const one = (
  proofs: readonly Proof[] = [],
  unread?: Unread,
): Pick<ConsumerSeen, 'presents' | 'verifies' | 'ownersWord' | 'instances'> => ({
  presents: ['web'],
  verifies: ['web'],
  ownersWord: true,
  instances: [
    {
      uid: 'web-1',
      name: 'web-1',
      createdAt: T0,
      ready: true,
      stamp: undefined,
      proofs,
      ...(unread === undefined ? {} : { unread }),
    },
  ],
});

const resting = (change: Partial<ConsumerSeen>): readonly RestsOnTime[] => {
  const story = new Story().leaf('web').consumer('web', change);
  story.run();
  return restsOnTime(story.seen, story.policy);
};

test('a hot workload that shows nothing rests on time for its CAs and its leaf', () => {
  expect(resting(one())).toEqual([{ consumer: 'web', unseen: ['trust', 'leaf'], withinSeconds: 180 }]);
});

test.each<[string, Partial<ConsumerSeen>]>([
  ['shows all that it has loaded', one([{ by: 'probed', issuer: 'ca1', anchors: ['ca1'], at: T0 }])],
  ['shows the old CA alone, and so blocks', one([{ by: 'probed', issuer: 'ca0', refuses: ['ca1'], at: T0 }])],
  ['cannot be read, and so blocks', one([], { trust: 'refused', leaf: 'refused' })],
  ['is restarted', { ...one(), reload: 'restart' }],
  ['is an API field', { reload: 'field', instances: [], verifies: ['trust'] }],
  ['has no word of its owner, and so blocks', { ...one(), ownersWord: false }],
  ['has no process', { ...one(), instances: [] }],
])('a workload that %s does not rest on time', (_, change) => {
  expect(resting(change)).toEqual([]);
});

test.each<[string, Partial<ConsumerSeen>, RestsOnTime['unseen']]>([
  [
    'whose probe shows only its leaf rests on time for its CAs',
    one([{ by: 'probed', issuer: 'ca1', at: T0 }]),
    ['trust'],
  ],
  [
    'whose status document is about other objects rests on time for this one',
    one([{ by: 'acknowledged', object: 'cache', issuer: 'ca1', anchors: ['ca1'], at: T0 }]),
    ['trust', 'leaf'],
  ],
  [
    'with two leaves behind one probed port rests on time for the other leaf',
    { ...one([{ by: 'probed', issuer: 'ca1', anchors: ['ca1'], at: T0 }]), presents: ['web', 'cache'] },
    ['leaf'],
  ],
])('a workload %s', (_, change, unseen) => {
  expect(resting(change)).toMatchObject([{ consumer: 'web', unseen }]);
});

test('one pod of several that shows nothing makes its workload rest on time', () => {
  const shown = one([{ by: 'probed', issuer: 'ca1', anchors: ['ca1'], at: T0 }]).instances;
  expect(resting({ ...one(), instances: [...shown, ...one().instances] })).toHaveLength(1);
});

test('where consumers are declared, objects without one rest on time, and programs with a name come first', () => {
  const story = new Story()
    .leaf('web')
    .leaf('cache')
    .set({ consumersFound: false })
    .consumer('word', { presents: ['cache'], verifies: ['cache'] })
    .consumer('pod', one());
  story.run();
  expect(restsOnTime(story.seen, story.policy).map(({ consumer }) => consumer)).toEqual([
    'pod',
    'word',
    'readers of trust',
  ]);
});

test.each([true, false])(
  'the list names the consumers that the last step takes as settled, and no others (consumers found: %s)',
  (consumersFound) => {
    const silent = { ...one(), presents: ['web'], verifies: ['web'] };
    const story = new Story()
      .leaf('web')
      .leaf('spare')
      .set({ consumersFound })
      .consumer('silent', silent)
      .consumer('shows', silent)
      .consumer('field', { reload: 'field', instances: [], verifies: ['trust'] });
    if (consumersFound)
      story.consumer('readers of spare', { ...silent, presents: ['spare'], verifies: ['spare'] });
    story.acknowledge('shows');
    story.run();
    story.pass(day);
    story.rotate = ['monday'];
    for (let passes = 0; passes < 50; passes++) {
      story.acknowledge('shows');
      const { actions } = story.plan();
      const step = actions.find(({ kind }) => kind === 'retire');
      if (step?.kind === 'retire') {
        const settled = shownFor(story.seen, story.policy, story.now, step).filter(
          ({ by }) => by === 'settled',
        );
        const listed = restsOnTime(story.seen, story.policy).map(({ consumer }) => consumer);
        expect(settled.map(({ consumer }) => consumer).sort()).toEqual(listed.sort());
        return;
      }
      for (const action of actions) story.act(action);
      if (actions.length === 0) story.pass(minute);
    }
    throw new Error('the rotation does not end');
  },
);

test('sentences group consumers by what nothing shows of them, and name reloadWithin', () => {
  const withinSeconds = (3 * minute) / 1_000;
  expect(
    restsText([
      { consumer: 'a', unseen: ['trust', 'leaf'], withinSeconds },
      { consumer: 'b', unseen: ['trust'], withinSeconds },
      { consumer: 'c', unseen: ['trust', 'leaf'], withinSeconds },
      { consumer: 'd', unseen: ['leaf'], withinSeconds },
    ]),
  ).toEqual([
    'rests on reloadWithin (3 min): a, c (nothing shows what they have loaded)',
    'rests on reloadWithin (3 min): b (nothing shows which CAs it trusts)',
    'rests on reloadWithin (3 min): d (nothing shows which certificate it serves)',
  ]);
  expect(restsText([])).toEqual([]);
});

test('at rest sentences leave out objects without a declared consumer', () => {
  const story = new Story().leaf('web').set({ consumersFound: false }).consumer('pod', one());
  story.run();
  const all = restsOnTime(story.seen, story.policy);
  expect(all).toMatchObject([{ consumer: 'pod' }, { consumer: 'readers of trust', undeclared: true }]);
  expect(restsText(all).join()).toContain('readers of trust');
  expect(restsText(all, { atRest: true })).toEqual([
    'rests on reloadWithin (3 min): pod (nothing shows what it has loaded)',
  ]);
});
