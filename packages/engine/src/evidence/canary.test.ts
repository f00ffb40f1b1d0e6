import { after, minute, parseCertificates, second } from '@handover/material';
import { expect, test } from 'vitest';
import { catalogue, dealKey, MESH, on, World } from '../../test/world.ts';
import { Canaries, converge, type IssuanceLog, type IssuedEntry } from '../index.ts';

const ID = 'default/mesh';

const canariesOf = ({ home: { keyring, random } }: World, issued: IssuanceLog['issued']): Canaries =>
  new Canaries({ keyring, keys: dealKey, random, log: { issued } });

const mesh = async () => {
  const world = new World();
  await converge(on(world.home, catalogue(MESH)), ID);
  const record = await world.authorities.load(ID);
  if (record === undefined) throw new Error('no record');
  return { world, record };
};

test('a canary is written down, and used for four of the five minutes that it lasts', async () => {
  const { world, record } = await mesh();
  const log: IssuedEntry[] = [];
  const issued = async (entry: IssuedEntry): Promise<void> => void log.push(entry);
  const canaries = canariesOf(world, issued);
  const first = await canaries.of(ID, record, 1, world.now);
  expect(log).toHaveLength(1);
  expect(log[0]).toMatchObject({
    kind: 'canary',
    authority: ID,
    generation: 1,
    subject: 'CN=handover canary',
    dnsNames: [],
    usages: ['clientAuth'],
    for: { kind: 'Authority', namespace: 'default', name: 'mesh' },
    why: 'servers are asked whether they trust CA generation 1',
  });
  const [made] = parseCertificates(first?.cert ?? '').certificates;
  expect(log[0]?.fingerprint).toBe(made?.fingerprint);
  expect(await canaries.of(ID, record, 1, after(world.now, 4 * minute - second))).toBe(first);
  expect(await canaries.of(ID, record, 1, after(world.now, 4 * minute))).not.toBe(first);
  // A clock that was set back: it would not be valid yet.
  expect(await canaries.of(ID, record, 1, after(world.now, -minute))).not.toBe(first);
  expect(log).toHaveLength(3);
  expect(await canaries.of(ID, record, 9, world.now)).toBeUndefined();
});

test('a canary is not issued without a line in the issuance log', async () => {
  const { world, record } = await mesh();
  const issued = () => Promise.reject(new Error('the disk is full'));
  const canaries = canariesOf(world, issued);
  await expect(canaries.of(ID, record, 1, world.now)).rejects.toThrow('the disk is full');
});
