import { pemFile, SealKey } from '@handover/engine';
import { instant } from '@handover/material';
import { expect, it } from 'vitest';
import { Certificates } from './certificates.ts';
import { SHARED } from './resources.ts';
import { SimulatedStore } from './store.ts';

const START = Date.UTC(2030, 0, 1);

const setting = () => {
  let time = START;
  const certificates = new Certificates();
  const store = new SimulatedStore(certificates, () => time);
  const ca = (generation: number) =>
    certificates.newCa(generation, instant(START), instant(START + 86_400_000)).certificate;
  const write = (expect: string | undefined, ...cas: ReturnType<typeof ca>[]) => {
    const data = { 'ca.crt': pemFile(cas) };
    store.write(SHARED, expect, (at) => ({
      data,
      record: { digest: '', revisions: {}, anchors: [], changedAt: at },
    }));
  };
  return { store, ca, write, pass: (ms: number) => (time += ms) };
};

it('the store of a simulated home lets no write land on a version it was not decided on, and no creation on what exists', () => {
  const { store, ca, write } = setting();
  const one = ca(1);
  expect(() => write('gone', one)).toThrow('changed in the meantime');
  write(undefined, one);
  expect(() => write(undefined, one)).toThrow('changed in the meantime');
  const { version } = store.object(SHARED) ?? {};
  store.touch(SHARED);
  expect(() => write(version, one)).toThrow('changed in the meantime');
  write(store.object(SHARED)?.version, one);
});

it('the store of a simulated home dates a write by its own clock, which may be wrong', () => {
  const { store, ca, write } = setting();
  store.offset = 5_000;
  write(undefined, ca(1));
  expect(store.object(SHARED)?.record?.changedAt).toBe(START + 5_000);
  expect(store.latest(SHARED)?.at).toBe(START);
});

it('the store of a simulated home still gives an old cache what was there then', () => {
  const { store, ca, write, pass } = setting();
  const [one, two] = [ca(1), ca(2)];
  write(undefined, one);
  pass(1000);
  write(store.object(SHARED)?.version, two);
  expect(store.contentAt(SHARED, START - 1)).toBeUndefined();
  expect(store.contentAt(SHARED, START + 999)?.anchors).toEqual([one.fingerprint]);
  expect(store.contentAt(SHARED, START + 1000)?.anchors).toEqual([two.fingerprint]);
});

it('the store of a simulated home shows a snapshot that later writes do not change', () => {
  const { store, ca, write } = setting();
  write(undefined, ca(1));
  const before = store.objects;
  write(store.object(SHARED)?.version, ca(2));
  expect(before.get(SHARED)).not.toBe(store.objects.get(SHARED));
});

it('the store of a simulated home swaps the authority only on the revision that was seen', () => {
  const { store } = setting();
  const record = (revision: number) => ({
    state: { revision, generations: [], crosses: [], ids: [], distrusts: 0, lastGeneration: 1 },
    certificates: new Map(),
    keys: new Map(),
    sealKey: SealKey.derivedFrom('test'),
  });
  store.swap(undefined, record(1));
  expect(() => store.swap(undefined, record(1))).toThrow('changed in the meantime');
  store.swap(1, record(2));
  expect(store.state?.revision).toBe(2);
});
