import { day } from '@handover/material';
import { expect, test } from 'vitest';
import { Story } from '../../test/story.ts';
import { plan } from './plan.ts';

const WHY = 'other.yaml:1:8: not YAML; what it declared before is not known';

test('no step is taken while some consumers are not known, and the distrust of a stolen CA is', () => {
  const story = new Story().leaf('web').consumer('web', { presents: ['web'], verifies: ['web', 'trust'] });
  story.run();
  story.acknowledgeAll().pass(day).run();
  story.rotate = ['r'];
  const planned = (more = {}) =>
    plan({ ...story.seen, unknownResources: WHY, ...more }, story.policy, story.now);
  expect(planned()).toMatchObject({ actions: [], blockedBy: [{ consumer: 'resources', waitsFor: WHY }] });
  expect(planned({ distrust: [1] }).actions).toMatchObject([{ kind: 'distrust' }]);
  expect(story.plan().actions).toMatchObject([{ kind: 'mint' }]);
});
