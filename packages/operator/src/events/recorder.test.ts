import { connect, events } from '@handover/kube';
import { instant, minute } from '@handover/material';
import { FakeApiServer } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cutMessage, type Happening } from './event.ts';
import { EventRecorder } from './recorder.ts';

let server: FakeApiServer;
let end: AbortController;
let now = 0;
let recorder: EventRecorder;
const errors: unknown[] = [];
const verbs: string[] = [];
beforeEach(async () => {
  server = await FakeApiServer.start();
  end = new AbortController();
  now = Date.UTC(2030, 0, 1);
  errors.length = 0;
  verbs.length = 0;
  recorder = new EventRecorder({
    kube: connect(server.config, { signal: end.signal, onRequest: ({ verb }) => verbs.push(verb) }),
    identity: 'me',
    now: () => instant(now),
    signal: end.signal,
    onError: (_, error) => errors.push(error),
  });
});
afterEach(async () => {
  end.abort();
  await server.stop();
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
const written = async (): Promise<readonly Written[]> => {
  const { items } = await connect(server.config, { signal: end.signal }).list(events, {
    namespace: 'default',
  });
  return items as unknown as readonly Written[];
};
const until = async (look: () => Promise<boolean>): Promise<void> => {
  for (let tries = 0; !(await look()); tries++) {
    if (tries > 500) throw new Error('never');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

test('the same again is counted on the Event that is there, once a minute', async () => {
  recorder.tell(about, happening('a'));
  await until(async () => (await written()).length === 1);
  for (let turn = 0; turn < 10; turn++) recorder.tell(about, happening('a'));
  now += minute;
  recorder.tell(about, happening('a'));
  await until(async () => (await written())[0]?.count === 12);
  expect(await written()).toHaveLength(1);
  expect(verbs).toEqual(['create', 'patch']);
});

test('after fifty minutes it is said anew: an API server forgets Events after an hour', async () => {
  recorder.tell(about, happening('a'));
  now += 51 * minute;
  recorder.tell(about, happening('a'));
  await until(async () => (await written()).length === 2);
});

test('about one object no more than twenty-five come in a row, then one a minute that says how many did not', async () => {
  for (let turn = 0; turn < 100; turn++) recorder.tell(about, happening(`n${turn}`));
  const other = { ...about, uid: 'u2', name: 'other' };
  recorder.tell(other, happening('x'));
  await until(async () => (await written()).length === 26);
  now += minute;
  recorder.tell(about, happening('later'));
  await until(async () => (await written()).length === 27);
  expect((await written()).map(({ message }) => message)).toContain('later (75 more Events left out)');
});

test('of a thousand minor ones at once most are left out, and none keeps another out', async () => {
  for (let turn = 0; turn < 1_000; turn++)
    recorder.tell(
      { ...about, uid: `leaf ${turn}`, name: `leaf-${turn}` },
      { ...happening('new'), minor: true },
    );
  for (let turn = 0; turn < 20; turn++) recorder.tell(about, happening(`n${turn}`));
  await until(async () => {
    const messages = (await written()).map(({ message }) => message);
    return messages.filter((message) => message !== 'new').length === 20;
  });
  expect((await written()).length).toBeLessThanOrEqual(72);
});

test('an API server that takes none holds nothing up, and is complained of once', async () => {
  server.faults.add({ times: 3, status: 403, reason: 'Forbidden' });
  for (let turn = 0; turn < 3; turn++) recorder.tell(about, happening(`n${turn}`));
  await until(async () => verbs.length === 3);
  expect(errors).toHaveLength(1);
});

test('a note is cut to what the API server takes, in bytes and between characters', () => {
  expect(cutMessage('short')).toBe('short');
  for (const letter of ['a', 'ä', '漢', '𐍈']) {
    const text = cutMessage(letter.repeat(2_000));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_024);
    expect(Buffer.byteLength(text)).toBeGreaterThan(1_000);
    expect(text).not.toContain('\uFFFD');
    expect(Buffer.from(text).toString()).toBe(text);
  }
});
