import { events, type Kube } from '@handover/kube';
import { minute } from '@handover/material';
import { apiServer, type FakeApiServer, type TestClock } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { cutMessage, type Happening } from './event.ts';
import { EventRecorder } from './recorder.ts';

let server: FakeApiServer;
let end: AbortController;
let clock: TestClock;
let kube: Kube;
let recorder: EventRecorder;
const errors: unknown[] = [];
const verbs: string[] = [];
beforeEach(async () => {
  const onRequest = ({ verb }: { readonly verb: string }): unknown => verbs.push(verb);
  ({ server, kube, clock, stop: end } = await apiServer({ client: { onRequest } }));
  errors.length = 0;
  verbs.length = 0;
  recorder = new EventRecorder({
    kube,
    identity: 'me',
    now: () => clock.now(),
    signal: end.signal,
    onError: (_, error) => errors.push(error),
  });
});

const about = {
  apiVersion: 'handover.dev/v1alpha1',
  kind: 'Authority',
  namespace: 'default',
  name: 'mesh',
  uid: 'u1',
};
const happening = (note: string): Happening => ({ type: 'Normal', reason: 'Said', action: 'Say', note });
interface Written {
  readonly message: string;
  readonly count: number;
}
/** What has been written once nothing is left to do. */
const written = async (): Promise<readonly Written[]> => {
  await clock.advance(0);
  return server.store.all(events, 'default') as unknown as readonly Written[];
};

test('a repeated Event is counted on the existing one, once a minute', async () => {
  recorder.tell(about, happening('a'));
  expect(await written()).toHaveLength(1);
  for (let turn = 0; turn < 10; turn++) recorder.tell(about, happening('a'));
  await clock.advance(minute);
  recorder.tell(about, happening('a'));
  expect(await written()).toMatchObject([{ count: 12 }]);
  expect(verbs).toEqual(['create', 'patch']);
});

test('a repeated Event is created again after fifty minutes: an API server forgets Events after an hour', async () => {
  recorder.tell(about, happening('a'));
  await clock.advance(51 * minute);
  recorder.tell(about, happening('a'));
  expect(await written()).toHaveLength(2);
});

test('one object gets at most twenty-five Events in a row, then one a minute that counts those left out', async () => {
  for (let turn = 0; turn < 100; turn++) recorder.tell(about, happening(`n${turn}`));
  const other = { ...about, uid: 'u2', name: 'other' };
  recorder.tell(other, happening('x'));
  expect(await written()).toHaveLength(26);
  await clock.advance(minute);
  recorder.tell(about, happening('later'));
  expect(await written()).toHaveLength(27);
  expect((await written()).map(({ message }) => message)).toContain('later (75 more Events left out)');
});

test('most of a thousand minor Events at once are left out, and none displaces an important Event', async () => {
  for (let turn = 0; turn < 1_000; turn++)
    recorder.tell(
      { ...about, uid: `leaf ${turn}`, name: `leaf-${turn}` },
      { ...happening('new'), minor: true },
    );
  for (let turn = 0; turn < 20; turn++) recorder.tell(about, happening(`n${turn}`));
  const messages = (await written()).map(({ message }) => message);
  expect(messages.filter((message) => message !== 'new')).toHaveLength(20);
  expect(messages.length).toBeLessThanOrEqual(72);
});

test('an API server that refuses Events blocks nothing, and causes one error', async () => {
  server.faults.add({ times: 3, status: 403, reason: 'Forbidden' });
  for (let turn = 0; turn < 3; turn++) recorder.tell(about, happening(`n${turn}`));
  await clock.advance(0);
  expect(verbs).toHaveLength(3);
  expect(errors).toHaveLength(1);
});

test('the message of an Event is cut to the size that the API server accepts, in bytes and between characters', () => {
  expect(cutMessage('short')).toBe('short');
  for (const letter of ['a', 'ä', '漢', '𐍈']) {
    const text = cutMessage(letter.repeat(2_000));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_024);
    expect(Buffer.byteLength(text)).toBeGreaterThan(1_000);
    expect(text).not.toContain('\uFFFD');
    expect(Buffer.from(text).toString()).toBe(text);
  }
});
