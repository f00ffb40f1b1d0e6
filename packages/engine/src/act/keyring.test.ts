import { generateKey, localSigner, type Signer } from '@handover/core';
import { PrivateKey, second } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { accepts, catalogue, dealKey, MESH, on, type Parts, World } from '../../test/world.ts';
import {
  Canaries,
  converge,
  dryRun,
  filesFrom,
  type KeyRef,
  type Keyring,
  LocalKey,
  localKeyring,
  reconcile,
} from '../index.ts';
import { pemOf } from '../snapshot/local-key.ts';

const ID = 'default/mesh';
const RESOURCES = catalogue(MESH);

/** Its references hold another key than it signs with: a certificate that was signed past `open` is accepted by no peer. */
class RecordingKeyring implements Keyring {
  readonly calls: string[] = [];
  readonly #keys: { readonly ref: KeyRef; readonly signer: Signer }[] = [];
  onDestroy: (ref: KeyRef) => Promise<void> = async () => {};

  #add(call: string, signer: Signer): KeyRef {
    const ref = new LocalKey(PrivateKey.of(generateKey('ECDSA-P256').privateKey));
    this.calls.push(`${call} ${this.#keys.push({ ref, signer })}`);
    return ref;
  }

  #call(call: string, ref: KeyRef): Signer {
    const index = this.#keys.findIndex((key) => key.ref === ref);
    this.calls.push(`${call} ${index + 1}`);
    const signer = this.#keys[index]?.signer;
    if (signer === undefined) throw new Error('a reference to no key of this keyring');
    return signer;
  }

  async create({ share }: { readonly share: string }): Promise<KeyRef> {
    expect(share).toBe('default');
    return this.#add('create', localSigner(generateKey('ECDSA-P256').privateKey));
  }

  async import(key: LocalKey): Promise<KeyRef> {
    return this.#add('import', await localKeyring(dealKey).open(key));
  }

  async open(ref: KeyRef): Promise<Signer> {
    return this.#call('open', ref);
  }

  async destroy(ref: KeyRef): Promise<void> {
    this.#call('destroy', ref);
    await this.onDestroy(ref);
  }
}

let world: World;
let keyring: RecordingKeyring;
let home: Parts;
beforeEach(() => {
  world = new World();
  keyring = new RecordingKeyring();
  home = { ...world.home, keyring };
});

const callsOf = async (act: () => Promise<unknown>): Promise<readonly string[]> => {
  keyring.calls.length = 0;
  await act();
  return [...keyring.calls];
};
const step = (resources = RESOURCES) => callsOf(() => converge(on(home, resources), ID));
const everyPairIsAccepted = async (): Promise<void> => {
  const [a, b] = [await world.object('default/secrets/a'), await world.object('default/secrets/b')];
  for (const [one, other] of [[a, b] as const, [b, a] as const])
    expect(accepts(one.data['tls.crt'], other.data['ca.crt'], world.now)).toBe(true);
};

test('a rotation creates, opens and destroys CA keys in order, and signs with what the keyring opens alone', async () => {
  expect(await step()).toEqual(['create 1', 'open 1', 'open 1', 'open 1']);
  await everyPairIsAccepted();
  world.rotate.push('r1');
  expect(await step()).toEqual(['create 2', 'open 2']);
  world.pass(20 * second);
  // The cross-certificate by generation 1, then both leaves of generation 2.
  expect(await step()).toEqual(['open 1', 'open 2', 'open 2']);
  await everyPairIsAccepted();
  world.pass(20 * second);
  const kept: boolean[] = [];
  keyring.onDestroy = async (ref) => {
    const record = await world.authorities.load(ID);
    kept.push([...(record?.keys.values() ?? [])].includes(ref));
  };
  expect(await step()).toEqual(['destroy 1']);
  expect(kept).toEqual([false]);
  await everyPairIsAccepted();
  expect(await step()).toEqual([]);
});

test('a distrusted key is destroyed once the state names it no more', async () => {
  await step();
  world.distrust.push(1);
  const calls = await step();
  expect(calls.slice(0, 4)).toEqual(['create 2', 'open 2', 'open 1', 'destroy 1']);
  expect(new Set(calls.slice(4))).toEqual(new Set(['open 2']));
});

test('no key is destroyed when the swap that drops it fails', async () => {
  await step();
  world.distrust.push(1);
  const authorities = {
    load: home.authorities.load.bind(home.authorities),
    swap: () => Promise.reject(new Error('the disk is full')),
  };
  const calls = await callsOf(() =>
    expect(reconcile(on({ ...home, authorities }, RESOURCES), ID)).rejects.toThrow('the disk is full'),
  );
  expect(calls).toEqual(['create 2', 'open 2', 'open 1']);
});

test('a dry run opens keys, and creates and destroys none', async () => {
  await step();
  const calls = await callsOf(async () => {
    const real = on(home, RESOURCES);
    const trial = dryRun(real, await real.fresh(), { distrust: [1] });
    await converge(trial, ID);
    const { authorities } = await trial.fresh();
    expect((await authorities.load(ID))?.state.generations[0]?.number).toBe(2);
  });
  expect(new Set(calls)).toEqual(new Set(['open 1']));
});

test('a canary is signed by the keyring, and its control by no key that the keyring knows', async () => {
  await step();
  const record = await world.authorities.load(ID);
  if (record === undefined) throw new Error('no record');
  const tools = { keys: dealKey, random: home.random, log: { issued: async () => {} } };
  const canaries = new Canaries({ ...tools, keyring });
  expect(await callsOf(() => canaries.of(ID, record, 1, world.now))).toEqual(['open 1']);
  expect(await callsOf(() => canaries.control(world.now))).toEqual([]);
});

test('an adopted key enters the keyring in the swap that takes its CA over, and not at a look', async () => {
  const other = new World();
  await converge(on(other.home, RESOURCES), ID);
  const record = await other.authorities.load(ID);
  const [ca] = record?.certificates.values() ?? [];
  const key = record?.keys.get(1);
  if (ca === undefined || key === undefined) throw new Error('no CA');
  world.objects.put('default/secrets/company-ca', {
    data: filesFrom({ 'tls.crt': ca.pem, 'tls.key': pemOf(key) }),
  });
  const adopting = catalogue(MESH.replace('spec: {', 'spec: {adopt: {secret: company-ca}, '));
  const calls = await step(adopting);
  expect(calls).toEqual(['import 1', 'open 1', 'open 1']);
  await everyPairIsAccepted();
  expect(await step(adopting)).toEqual([]);
});
