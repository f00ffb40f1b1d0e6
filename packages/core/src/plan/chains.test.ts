import { day, hour, instant } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { Story, waits } from '../../test/story.ts';
import type { Proof } from './observed.ts';

const NOT_SHOWN = 'no probe or status document has shown that';

/** Servers that follow their files, beside one that reads them when it starts: a rotation has been asked for, and the servers trust the new CA. */
const introducing = (): Story => {
  const story = new Story().leaf('web').leaf('db');
  story.consumer('web', { presents: ['web'], verifies: ['web'] });
  story.consumer('db', { presents: ['db'], verifies: ['db'], reload: 'restart' });
  story.run();
  story.pass(day);
  story.rotate = ['r'];
  story.act(story.plan().actions[0] ?? fail());
  while (story.plan().actions.some(({ kind }) => kind.startsWith('write-')))
    for (const action of story.plan().actions) story.act(action);
  story.acknowledge('web');
  return story;
};

const fail = (): never => {
  throw new Error('nothing is planned');
};

const reason = (story: Story): string => {
  const [action] = story.plan().actions;
  if (action?.kind !== 'activate') throw new Error(`planned: ${action?.kind}`);
  return action.why;
};

const told = (story: Story): readonly string[] =>
  story
    .plan()
    .notes.flatMap(({ code, object, message }) =>
      code === 'RestsOnCrossCertificate' ? [`${object}: ${message}`] : [],
    );

describe('the cross-certificate that a verifier relies on', () => {
  test('is no proof where no presenter was seen sending it: the step says so, and so does status', () => {
    const story = introducing();
    const doubt = `db relies on the cross-certificate, and ${NOT_SHOWN} web, db send it`;
    expect(reason(story)).toBe(`every verifier accepts CA generation 2; ${doubt}`);
    story.run();
    expect(story.roles()).toBe('2:current 1:previous');
    story.acknowledge('web');
    expect(told(story)).toEqual([`CA generation 2: ${doubt}`]);
  });

  test('is relied on without a word where every presenter was seen sending it', () => {
    const story = introducing().shows('web', 'sends').shows('db', 'sends');
    expect(reason(story)).toBe('every verifier holds CA generation 2');
    story.run();
    expect(told(story)).toEqual([]);
  });

  test('does not matter where every verifier has shown the new CA', () => {
    const story = introducing().acknowledge('db');
    expect(reason(story)).toBe('every verifier holds CA generation 2');
    expect(told(story)).toEqual([]);
  });

  test('is named with the presenter that was seen without it, once the new CA signs', () => {
    const story = introducing();
    story.run();
    story.shows('web', 'strips').shows('db', 'sends');
    expect(told(story)).toEqual([
      'CA generation 2: db relies on the cross-certificate, and web does not send it',
    ]);
  });

  test('is relied on by a silent verifier after reloadWithin, and by each that the gate stopped waiting for', () => {
    const story = new Story().leaf('web').set({ onBlocked: 'Proceed' });
    story.consumer('web', { presents: ['web'], verifies: [] }).consumer('quiet', { reload: 'unknown' });
    story.consumer('broken', {
      instances: [
        {
          uid: 'broken-1',
          createdAt: undefined,
          ready: true,
          stamp: undefined,
          proofs: [],
          unread: { trust: 'it is refused' },
        },
      ],
    });
    story.run();
    story.pass(day);
    story.rotate = ['r'];
    story.run();
    story.pass(hour);
    expect(waits(story)).toEqual(['broken: to load CA generation 2 (it is refused)']);
    expect(told(story)).toEqual([
      `CA generation 2: quiet relies on the cross-certificate, and ${NOT_SHOWN} web sends it`,
    ]);
    story.pass(day);
    expect(reason(story)).toBe(
      `patience has passed and onBlocked is Proceed, although broken did not confirm; quiet, broken rely on the cross-certificate, and ${NOT_SHOWN} web sends it`,
    );
  });

  test('is what Instant rests on: the step says which presenters were not seen sending it, three by name', () => {
    const story = new Story().set({ strategy: 'Instant' });
    for (const name of ['a', 'b', 'c', 'd']) story.leaf(name).consumer(name, { presents: [name] });
    story.leaf('idle');
    story.run();
    story.pass(day);
    story.rotate = ['r'];
    story.act(story.plan().actions[0] ?? fail());
    expect(reason(story)).toBe(
      `the strategy is Instant, and the cross-certificate makes every verifier accept the new CA; ${NOT_SHOWN} a, b, c and 2 more send it`,
    );
  });
});

describe('a presenter was seen sending the cross-certificate', () => {
  const withProofs = (...pods: (readonly Proof[])[]): Story => {
    const story = introducing().shows('db', 'sends');
    story.consumers = story.consumers.map((one) =>
      one.id === 'web'
        ? {
            ...one,
            verifies: [],
            instances: pods.map((proofs, index) => ({
              uid: `web-${index}`,
              createdAt: instant(story.now - day),
              ready: true,
              stamp: undefined,
              proofs,
            })),
          }
        : one,
    );
    return story;
  };
  const at = instant(Date.UTC(2030, 0, 1));
  const sends: Proof = { by: 'probed', issuer: 'ca1', chain: 'sends', at };
  const strips: Proof = { by: 'probed', issuer: 'ca1', chain: 'strips', at };
  const vague: Proof = { by: 'acknowledged', issuer: 'ca1', at };
  const doubt = `db relies on the cross-certificate, and ${NOT_SHOWN} web sends it`;

  test('when each of its pods that shows a leaf was', () => {
    expect(told(withProofs([sends], [sends], []))).toEqual([]);
    expect(told(withProofs([sends], [vague, sends]))).toEqual([]);
    expect(told(withProofs([sends], [vague]))).toEqual([`CA generation 2: ${doubt}`]);
    expect(told(withProofs([]))).toEqual([`CA generation 2: ${doubt}`]);
  });

  test('unless one of them strips it: then gate 1 is strict', () => {
    const story = withProofs([sends], [strips]);
    expect(waits(story)).toContain('db: to restart with CA generation 2');
    expect(told(story)).toEqual([]);
  });

  test('for each of its Secrets: a handshake with one port says nothing of the others', () => {
    const story = withProofs([sends]).leaf('extra');
    story.consumers = story.consumers.map((one) =>
      one.id === 'web' ? { ...one, presents: ['web', 'extra'] } : one,
    );
    story.run();
    const leafOf = (object: string) => ({ fingerprint: story.objects.get(object)?.leaf?.fingerprint ?? '' });
    const named = (...objects: string[]): Story => {
      story.consumers = story.consumers.map((one) =>
        one.id === 'web'
          ? {
              ...one,
              instances: one.instances.map((pod) => ({
                ...pod,
                proofs: [{ ...sends, issuer: 'ca2', leaves: objects.map(leafOf) }],
              })),
            }
          : one,
      );
      return story;
    };
    expect(told(named('web'))).toEqual([`CA generation 2: ${doubt}`]);
    expect(told(named('web', 'extra'))).toEqual([]);
  });
});

describe('a restart-only verifier that presents nothing', () => {
  const watching = (change: Parameters<Story['consumer']>[1] = {}): Story => {
    const story = new Story().leaf('web').consumer('web', { presents: ['web'], verifies: ['web'] });
    const pods = [
      { uid: 'w-0', createdAt: instant(story.now - day), ready: true, stamp: undefined, proofs: [] },
    ];
    story.consumer('watcher', { reload: 'restart', instances: pods, ...change });
    story.run();
    story.pass(day);
    story.rotate = ['r'];
    story.run();
    story.acknowledge('web');
    return story;
  };
  /** Its pod is replaced by one with the stamp of its template. */
  const restarted = (story: Story): void => {
    story.consumers = story.consumers.map((one) =>
      one.id === 'watcher'
        ? {
            ...one,
            workload: { stamp: one.workload?.stamp, rolling: false },
            instances: one.instances.map((pod) => ({
              ...pod,
              createdAt: story.now,
              stamp: one.workload?.stamp,
            })),
          }
        : one,
    );
  };
  /** Goes through the rest of a rotation, and says which steps came in which order. */
  const rest = (story: Story): readonly string[] => {
    const done: string[] = [];
    for (let round = 0; round < 8; round++) {
      story.pass(hour);
      story.acknowledge('web');
      const kinds = story.run().map(({ kind }) => kind);
      done.push(...kinds.filter((kind) => !kind.startsWith('write-')));
      restarted(story);
    }
    return done;
  };

  test('is rolled before the new CA signs where a presenter was not seen, and not again', () => {
    const story = watching();
    expect(waits(story)).toEqual(['watcher: to restart with CA generation 2']);
    expect(rest(story)).toEqual(['stamp', 'activate', 'retire']);
  });

  test('is rolled after it where every presenter was seen: the cross-certificate stands in for it', () => {
    const story = watching().shows('web', 'sends');
    expect(rest(story)).toEqual(['activate', 'stamp', 'retire']);
  });

  test.each([
    ['cannot be rolled', { stamp: undefined, rolling: false, obstacle: 'it is paused' }],
    ['does not get ready', { stamp: undefined, rolling: true, failing: 'no progress' }],
    ['has no workload', undefined],
  ])('holds no gate up when it %s: it relies on the cross-certificate, as the step says', (_, workload) => {
    const story = watching({ workload });
    expect(reason(story)).toBe(
      `every verifier accepts CA generation 2; watcher relies on the cross-certificate, and ${NOT_SHOWN} web sends it`,
    );
  });
});
