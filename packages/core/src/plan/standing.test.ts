import { day, hour, minute } from '@handover/material';
import { expect, test } from 'vitest';
import { anchor, Story } from '../../test/story.ts';
import { type Standing, standings } from './standing.ts';

const of = (story: Story, consumer: string): Standing | undefined =>
  standings(story.seen, story.policy, story.now).find((standing) => standing.consumer === consumer);

/** Its pods replaced by one that started now, under the stamp of its template. */
const restart = (story: Story, id: string): void => {
  story.consumers = story.consumers.map((consumer) =>
    consumer.id === id
      ? {
          ...consumer,
          instances: [
            {
              uid: `${id}-${story.now}`,
              createdAt: story.now,
              ready: true,
              stamp: consumer.workload?.stamp,
              proofs: [],
            },
          ],
          workload: { stamp: consumer.workload?.stamp, rolling: false },
        }
      : consumer,
  );
};

/** A hot web server and a restart-only one, after a rotation in which the latter was rolled once. */
const rotated = (): Story => {
  const story = new Story()
    .leaf('web')
    .leaf('old')
    .consumer('web', { presents: ['web'], verifies: ['web'] })
    .consumer('old', { reload: 'restart', presents: ['old'], verifies: ['old'] });
  story.run();
  story.pass(day);
  story.rotate = ['monday'];
  for (let step = 0; step < 8; step++) {
    story.acknowledge('web').run();
    story.pass(20_000).run();
    if (of(story, 'old')?.by === undefined) restart(story, 'old');
  }
  expect(story.roles()).toBe('2:current');
  return story;
};

test('the evidence that a consumer rests on is named for each kind', () => {
  const story = rotated();
  expect(of(story, 'web')).toMatchObject({ by: 'acknowledged' });
  expect(of(story, 'old')).toMatchObject({ by: 'restarted' });
  story.consumer('field', { reload: 'field', instances: [], verifies: ['trust'] });
  expect(of(story, 'field')).toMatchObject({ by: 'written' });
  story.consumer('said', { ownersWord: true });
  story.pass(hour);
  expect(of(story, 'said')).toMatchObject({ by: 'settled' });
  story.consumer('silent');
  expect(of(story, 'silent')).toMatchObject({ by: undefined });
});

test('the evidence that a consumer rests on is none while it has yet to load the new CA', () => {
  const story = rotated();
  story.rotate = ['monday', 'tuesday'];
  story.run();
  expect(story.roles()).toBe('3:next 2:current');
  expect(of(story, 'web')).toMatchObject({ by: undefined });
  expect(of(story, 'old')).toMatchObject({ by: 'cross' });
});

test('a restart-only process that started before the old CA was retired trusts it until it is restarted, and no other consumer does', () => {
  const story = rotated();
  expect(of(story, 'old')?.trustsUntilRestarted).toBe(1);
  expect(of(story, 'web')?.trustsUntilRestarted).toBeUndefined();
  story.pass(minute);
  restart(story, 'old');
  expect(of(story, 'old')?.trustsUntilRestarted).toBeUndefined();
});

test('a restart-only process that started before the old CA was retired is not listed while the rotation goes on, nor where nothing was ever retired', () => {
  const story = new Story().leaf('old').consumer('old', { reload: 'restart', verifies: ['old'] });
  story.run();
  expect(of(story, 'old')?.trustsUntilRestarted).toBeUndefined();
  story.rotate = ['monday'];
  story.run();
  expect(of(story, 'old')?.trustsUntilRestarted).toBeUndefined();
});

test('a restart-only process that started before the old CA was retired is listed with the adopted CA, which has no number but 0', () => {
  const story = new Story().consumer('old', { reload: 'restart' });
  story.adoptable = [anchor('theirs')];
  for (let step = 0; step < 8; step++) {
    story.run();
    story.pass(minute).run();
    if (story.consumers[0]?.workload?.rolling === true) restart(story, 'old');
  }
  expect(story.roles()).toBe('1:current');
  expect(of(story, 'old')?.trustsUntilRestarted).toBe(0);
});

test('a restart-only process that started before the old CA was retired is not listed when it shows that it holds nothing but what its bundle holds', () => {
  const story = rotated();
  story.acknowledge('old');
  expect(of(story, 'old')?.trustsUntilRestarted).toBeUndefined();
  story.acknowledge('old', { anchors: ['ca1', 'ca2'] });
  expect(of(story, 'old')?.trustsUntilRestarted).toBe(1);
});
