import { day, second } from '@handover/material';
import { expect, test } from 'vitest';
import { Story } from '../../test/story.ts';
import { type Plan, plan } from './plan.ts';
import { type Shown, shownFor } from './shown.ts';
import type { Transition } from './transition.ts';

const stepIn = ({ actions }: Plan): Transition | undefined =>
  actions.find((action): action is Extract<typeof action, Transition> =>
    ['mint', 'activate', 'retire', 'distrust', 'distrust-done'].includes(action.kind),
  );

const act = (story: Story, { actions }: Plan): void => {
  for (const action of actions) story.act(action);
};

/** Goes on until the next step of the authority is due, and says what opened its gate. */
const opened = (story: Story): { readonly step: string | undefined; readonly shown: readonly Shown[] } => {
  for (let passes = 0; passes < 20; passes++) {
    const made = plan(story.seen, story.policy, story.now);
    const step = stepIn(made);
    if (step !== undefined) {
      const shown = shownFor(story.seen, story.policy, story.now, step);
      act(story, made);
      return { step: step.kind, shown };
    }
    if (made.actions.length === 0) story.pass(20 * second);
    else act(story, made);
    story.acknowledge('web');
  }
  return { step: undefined, shown: [] };
};

const ways = (shown: readonly Shown[]) => Object.fromEntries(shown.map(({ consumer, by }) => [consumer, by]));

test('a step names each consumer with the evidence it had shown when the gate opened', () => {
  const story = new Story()
    .leaf('web')
    .consumer('web', { presents: ['web'], verifies: ['web'] })
    .consumer('field', { reload: 'field', instances: [], verifies: ['trust'] });
  story.run();
  story.pass(day);
  story.rotate = ['monday'];
  expect(opened(story)).toEqual({ step: 'mint', shown: [] });
  const activate = opened(story);
  expect(activate.step).toBe('activate');
  expect(ways(activate.shown)).toEqual({ web: 'acknowledged', field: 'written' });
  expect(activate.shown[0]?.at).toBeDefined();
  const retire = opened(story);
  expect(retire.step).toBe('retire');
  expect(ways(retire.shown)).toEqual({ web: 'acknowledged', field: 'written' });
});

test('a step without declared readers names time as the evidence for each object', () => {
  const story = new Story().leaf('web').set({ consumersFound: false });
  story.run();
  story.pass(day);
  story.rotate = ['monday'];
  expect(opened(story).step).toBe('mint');
  expect(ways(opened(story).shown)).toEqual({ 'readers of web': 'settled', 'readers of trust': 'settled' });
  const retire = opened(story);
  expect(retire.step).toBe('retire');
  expect(ways(retire.shown)).toEqual({
    'readers of web': 'settled',
    'readers of trust': 'settled',
    'servers that present web': 'settled',
  });
});

test('a step names a consumer that it did not wait for without evidence', () => {
  const story = new Story()
    .leaf('web')
    .consumer('web', { presents: ['web'], verifies: ['web'] })
    .consumer('mute', { verifies: ['trust'], instances: [] })
    .set({ strategy: 'Instant' });
  story.run();
  story.pass(day);
  story.rotate = ['monday'];
  expect(opened(story).step).toBe('mint');
  const { step, shown } = opened(story);
  expect(step).toBe('activate');
  expect(ways(shown)).toMatchObject({ web: 'none' });
});
