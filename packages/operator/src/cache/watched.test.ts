import { configMaps, type Kube, type KubeObject } from '@handover/kube';
import { apiServer, type TestClock } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { Budget } from './budget.ts';
import { Projection } from './projection.ts';
import { listed, Watched } from './watched.ts';

let clock: TestClock;
let kube: Kube;
let end: AbortController;
beforeEach(async () => {
  ({ kube, clock, stop: end } = await apiServer({ namespaces: ['prod', 'evil'] }));
});

const KIB = 1_024;
interface Kept {
  readonly name: string;
  readonly text: string;
}
const keep = ({ metadata, data }: KubeObject): Kept | undefined => {
  const text = (data as { text?: string } | undefined)?.text ?? '';
  if (text === 'boom') throw new TypeError('boom');
  return text === '' ? undefined : { name: metadata.name ?? '', text };
};
const DROPPED = new Projection<KubeObject, Kept>('test', { keep });
const SHELLS = new Projection<KubeObject, Kept>('test with shells', {
  keep,
  shell: ({ metadata }) => ({ name: metadata.name ?? '', text: 'no room' }),
});

const put = (namespace: string, name: string, text: string): Promise<unknown> =>
  kube.patch(
    configMaps,
    { namespace, name },
    {
      apply: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data: { text } },
      fieldManager: 'test',
      force: true,
    },
  );
const remove = (namespace: string, name: string): Promise<unknown> =>
  kube.delete(configMaps, { namespace, name });
/** Room for two objects of 4 KiB in each namespace. */
const small = (): Budget => new Budget({ whole: 10_000 * KIB, share: 13 * KIB });
const watched = async (projection: Projection<KubeObject, Kept>, budget: Budget) => {
  const watch = new Watched<KubeObject, Kept>(kube, configMaps, { projection, budget }).start(end.signal);
  await watch.ready;
  return watch;
};
const BIG = 'x'.repeat(4 * KIB);
const names = (watch: Watched<KubeObject, Kept>): readonly string[] =>
  watch
    .list()
    .map(({ name }) => name)
    .sort();

test('a namespace over its share has its own objects dropped, is known as unknown, and no other namespace notices', async () => {
  for (let i = 0; i < 5; i++) await put('evil', `e${i}`, BIG);
  await put('prod', 'p', BIG);
  const budget = small();
  const watch = await watched(DROPPED, budget);
  expect(names(watch)).toHaveLength(3);
  expect(watch.get('prod/p')).toBeDefined();
  expect([watch.unknown, budget.over]).toEqual([['evil'], ['evil']]);
  const { kept, unknown } = await listed(
    kube,
    configMaps,
    { projection: DROPPED, budget: budget.another() },
    end.signal,
  );
  expect([kept.length, [...unknown]]).toEqual([3, ['evil']]);
});

test('what was dropped is read as soon as there is room for it', async () => {
  for (let i = 0; i < 3; i++) await put('evil', `e${i}`, BIG);
  const budget = small();
  const watch = await watched(DROPPED, budget);
  expect(names(watch)).toHaveLength(2);
  await remove('evil', names(watch)[0] ?? '');
  await clock.until(() => (watch.unknown.length === 0 ? names(watch) : undefined), 0);
  expect(names(watch)).toHaveLength(2);
  expect(budget.over).toEqual([]);
});

test('a dropped object that is deleted is unknown no longer, and one that becomes small is kept', async () => {
  for (let i = 0; i < 4; i++) await put('evil', `e${i}`, BIG);
  const watch = await watched(DROPPED, small());
  const kept = names(watch);
  const [first = '', second = ''] = ['e0', 'e1', 'e2', 'e3'].filter((name) => !kept.includes(name));
  await put('evil', second, 'short');
  await clock.until(() => watch.get(`evil/${second}`), 0);
  expect(watch.unknown).toEqual(['evil']);
  await remove('evil', first);
  await clock.until(() => (watch.unknown.length === 0 ? true : undefined), 0);
});

test('a shell stands for an object that may not count as absent, and the object follows when there is room', async () => {
  for (let i = 0; i < 3; i++) await put('evil', `e${i}`, BIG);
  const watch = await watched(SHELLS, small());
  expect(names(watch)).toEqual(['e0', 'e1', 'e2']);
  const shells = watch.list().filter(({ text }) => text === 'no room');
  expect(shells).toHaveLength(1);
  const whole = watch.list().find(({ text }) => text === BIG);
  await remove('evil', whole?.name ?? '');
  await clock.until(() => (watch.list().every(({ text }) => text === BIG) ? true : undefined), 0);
});

test('an object over the bound of its projection is not kept, however much room there is', async () => {
  await put('prod', 'p', 'x'.repeat(17 * KIB));
  const watch = await watched(DROPPED, new Budget());
  expect([names(watch), watch.unknown]).toEqual([[], ['prod']]);
});

test('an object that a projection cannot read counts as unknown, and is told of', async () => {
  const watch = new Watched<KubeObject, Kept>(kube, configMaps, { projection: DROPPED });
  const told: string[] = [];
  watch.on('trouble', ({ message }) => told.push(message));
  await put('prod', 'p', 'boom');
  await put('prod', 'other', 'fine');
  await watch.start(end.signal).ready;
  expect([names(watch), watch.unknown]).toEqual([['other'], ['prod']]);
  expect(told).toEqual(['test prod/p cannot be read; it counts as unknown']);
  const { kept, unknown } = await listed(kube, configMaps, { projection: DROPPED }, end.signal);
  expect([kept.map(({ name }) => name), [...unknown]]).toEqual([['other'], ['prod']]);
});

test('a watch that ends gives back what it was charged', async () => {
  for (let i = 0; i < 2; i++) await put('evil', `e${i}`, BIG);
  const budget = small();
  const own = new AbortController();
  const first = new Watched<KubeObject, Kept>(kube, configMaps, { projection: DROPPED, budget }).start(
    own.signal,
  );
  await first.ready;
  own.abort();
  expect(names(await watched(DROPPED, budget))).toEqual(['e0', 'e1']);
});

test('a namespace that an Authority begins to serve has its objects read', async () => {
  await put('prod', 'p', BIG);
  const budget = small();
  budget.serve(new Set());
  const watch = await watched(DROPPED, budget);
  expect(names(watch)).toEqual([]);
  budget.serve(new Set(['prod']));
  await clock.until(() => watch.get('prod/p'), 0);
});
