import { type Kube, secrets } from '@handover/kube';
import { apiServer, type FakeApiServer, type TestClock } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { FollowedPasswords, secretPasswords } from './followed-passwords.ts';
import type { Place } from './place.ts';

let server: FakeApiServer;
let clock: TestClock;
let kube: Kube;
let end: AbortController;
let followed: FollowedPasswords;
const changed: string[] = [];
beforeEach(async () => {
  ({ server, kube, clock, stop: end } = await apiServer({ namespaces: ['prod', 'evil'] }));
  changed.length = 0;
  followed = new FollowedPasswords({ kube, onChange: (secret) => changed.push(secret) });
  followed.start(end.signal);
});

const place = (namespace: string, name: string, part = 'password'): Place => ({
  plural: 'secrets',
  namespace,
  name,
  part,
});
const write = (namespace: string, name: string, data: Readonly<Record<string, string>>): Promise<unknown> =>
  kube.create(
    secrets,
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name },
      data: Object.fromEntries(
        Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
      ),
    },
    { namespace },
  );
const textOf = async (where: Place): Promise<string | undefined> =>
  (await followed.read(where))?.value?.toString();
const watches = (): number =>
  server.requests.filter(({ watch, path }) => watch && /secrets/.test(path)).length;

test('sixteen of forty password Secrets of one namespace are watched, and the others are read', async () => {
  const places = Array.from({ length: 40 }, (_, index) => place('evil', `p${index}`));
  for (const { name } of places) await write('evil', name, { password: `secret ${name}` });
  followed.follow(places);
  await clock.advance(0);
  for (const each of places) expect(await textOf(each)).toBe(`secret ${each.name}`);
  const watched = new Set(
    server.requests.flatMap(({ query, watch }) => (watch ? [query.get('fieldSelector')] : [])),
  );
  expect(watched.size).toBe(16);
  // A place that is free again is used.
  const before = watches();
  followed.follow([...places.slice(1), place('evil', 'new')]);
  await clock.advance(0);
  expect(watches()).toBeGreaterThan(before);
});

test('the cache keeps only the beginning of one key of a password Secret, and too long a value is no password', async () => {
  const long = `-----BEGIN ${'a'.repeat(700_000)}`;
  await write('evil', 'large', { password: long, 'ca.crt': long });
  await write('evil', 'small', { password: 'hunter2', 'ca.crt': long });
  const places = [place('evil', 'large'), place('evil', 'small'), place('evil', 'small', 'other')];
  followed.follow(places);
  await followed.settled();
  const found = await Promise.all(places.map((each) => followed.read(each)));
  expect(found.map((each) => Object.keys(each ?? {}))).toEqual([['value'], ['value'], ['value']]);
  expect(found.map((each) => each?.value?.length)).toEqual([258, 7, undefined]);
  const { password } = secretPasswords((where) => followed.read(where));
  const from = (name: string, key: string) => ({ secret: { name, key } });
  await expect(password(from('large', 'password'), 'evil')).rejects.toMatchObject({
    code: 'PASSWORD_UNUSABLE',
  });
  await expect(password(from('small', 'other'), 'evil')).rejects.toThrow(/has no key other/);
  expect(Buffer.from((await password(from('small', 'password'), 'evil')).bytes).toString()).toBe('hunter2');
});

test('a namespace whose Secrets do not answer delays only its own passwords, and no pass waits for them', async () => {
  server.faults.add({
    when: ({ path }) => path.includes('/namespaces/evil/secrets'),
    times: 1_000,
    does: 'hang',
  });
  await write('prod', 'store', { password: 'of prod' });
  followed.follow([place('evil', 'p0'), place('evil', 'p1'), place('prod', 'store'), place('prod', 'later')]);
  await expect(followed.read(place('evil', 'p0'))).rejects.toMatchObject({ code: 'PASSWORD_MISSING' });
  await clock.advance(0);
  expect(await textOf(place('prod', 'store'))).toBe('of prod');
  expect(await followed.read(place('prod', 'later'))).toBeUndefined();
  // The next of them is tried all the same.
  const asked = (name: string): boolean =>
    server.requests.some(({ query }) => query.get('fieldSelector') === `metadata.name=${name}`);
  expect([asked('p0'), asked('p1')]).toEqual([true, false]);
  await clock.advance(2_000);
  expect(asked('p1')).toBe(true);
});

test('a changed password is reported, and a changed annotation is not', async () => {
  const store = place('prod', 'store');
  followed.follow([store]);
  await expect(followed.read(store)).rejects.toThrow('prod/secrets/store/password has not been read yet');
  // Whoever has asked too early hears that there is none.
  await clock.advance(0);
  expect(changed).toEqual(['prod/store']);
  expect(await followed.read(store)).toBeUndefined();
  await write('prod', 'store', { password: 'first' });
  await clock.advance(0);
  expect(changed).toEqual(['prod/store', 'prod/store']);
  const patch = (merge: object): Promise<unknown> =>
    kube.patch(secrets, { namespace: 'prod', name: 'store' }, { merge, fieldManager: 'test' });
  for (let n = 0; n < 5; n++) await patch({ metadata: { annotations: { n: `${n}` } } });
  await patch({ data: { password: Buffer.from('second').toString('base64') } });
  await clock.advance(0);
  expect(await textOf(store)).toBe('second');
  expect(changed).toHaveLength(3);
});
