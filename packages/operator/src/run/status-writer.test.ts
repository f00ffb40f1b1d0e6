import { EventEmitter, once } from 'node:events';
import type { Kube } from '@handover/kube';
import { instant } from '@handover/material';
import { apiServer, TestClock } from '@handover/test-api-server';
import { expect, onTestFinished, test } from 'vitest';
import { type Declared, declaredOf, RESOURCE_KINDS } from '../resources/declared.ts';
import { conditionsOf, verdict } from './status.ts';
import { StatusWriter } from './status-writer.ts';

test('a status that differs only in its times is not written again, even if the resource was read before it had a status', async () => {
  const { server, kube, clock, stop } = await apiServer();
  server.serve(RESOURCE_KINDS.Leaf);
  const spec = { authority: 'mesh', secretName: 'web', dnsNames: ['web.default.svc'] };
  const make = async (name: string) =>
    declaredOf(
      'Leaf',
      await kube.create(
        RESOURCE_KINDS.Leaf,
        { metadata: { namespace: 'default', name }, spec },
        { namespace: 'default' },
      ),
    );
  const [web, other] = [await make('web'), await make('other')];
  const writer = new StatusWriter(kube, stop.signal, (_, error) => {
    throw error;
  });
  const say = (declared: Declared, ready: boolean, seconds: number): void =>
    writer.put(declared, {
      conditions: conditionsOf(
        declared,
        [verdict('Ready', ready, 'Because', 'why')],
        instant(Date.UTC(2030, 0, 1, 0, 0, seconds)),
      ),
    });
  const find = (name: string) => kube.get(RESOURCE_KINDS.Leaf, { namespace: 'default', name });
  const readyOf = async (name: string): Promise<unknown> =>
    ((await find(name))?.status as { conditions?: readonly unknown[] } | undefined)?.conditions?.[0];
  say(web, false, 1);
  say(other, false, 1);
  const first = { status: 'False', lastTransitionTime: '2030-01-01T00:00:01Z' };
  await clock.advance(0);
  expect(await readyOf('other')).toMatchObject(first);
  const version = (await find('web'))?.metadata.resourceVersion;
  say(web, false, 2);
  say(other, true, 2);
  await clock.advance(1_999);
  expect(await readyOf('other')).toMatchObject(first);
  await clock.advance(1);
  // Of the two, web would be written first.
  expect(await readyOf('other')).toMatchObject({
    status: 'True',
    lastTransitionTime: '2030-01-01T00:00:02Z',
  });
  expect((await find('web'))?.metadata.resourceVersion).toBe(version);
  expect(await readyOf('web')).toMatchObject(first);
});

test('while writes are slow, only the newest status of a resource is written', async () => {
  const written: string[] = [];
  const held = new EventEmitter();
  const released = once(held, 'released');
  const clock = new TestClock();
  const slow = {
    clock,
    patch: async (_kind: unknown, { name }: { name: string }, { apply }: { apply: { status: object } }) => {
      written.push(`${name} ${JSON.stringify(apply.status)}`);
      await released;
    },
  } as unknown as Kube;
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const writer = new StatusWriter(slow, end.signal, (_, error) => {
    throw error;
  });
  const names = Array.from({ length: 12 }, (_, index) => `leaf-${index}`);
  const say = (text: string): void => {
    for (const name of names)
      writer.put(declaredOf('Leaf', { metadata: { namespace: 'default', name, uid: name } }), { text });
  };
  const said = (text: string, some = names) =>
    some.map((name) => `${name} ${JSON.stringify({ text, conditions: [] })}`);
  say('old');
  await clock.advance(0);
  expect(written).toEqual(said('old', ['leaf-0']));
  // Long enough for a second round of writes to begin, if there were one.
  for (const text of ['old', 'new', 'new']) {
    say(text);
    await clock.advance(10_000);
  }
  expect(written).toHaveLength(1);
  held.emit('released');
  const rest = names.slice(1);
  await clock.advance(2_000);
  expect(written).toEqual([...said('old', ['leaf-0']), ...said('new', rest), ...said('new', ['leaf-0'])]);
});

test('a status whose writes fail for a long time delays the status of no other resource', async () => {
  const clock = new TestClock();
  const written: string[] = [];
  const kube = {
    clock,
    patch: async (_kind: unknown, { name }: { readonly name: string }) => {
      if (name === 'refused') throw new Error('no such luck');
      written.push(name);
    },
  } as unknown as Kube;
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const writer = new StatusWriter(kube, stop.signal, () => undefined);
  const say = (name: string): void =>
    writer.put({ kind: 'Leaf', name, uid: name, status: undefined } as unknown as Declared, {
      conditions: [],
      observedGeneration: 1,
    });
  say('refused');
  // By then its next try is a minute away.
  await clock.advance(120_000);
  say('other');
  await clock.advance(0);
  expect(written).toEqual(['other']);
});
