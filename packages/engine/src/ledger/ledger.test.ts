import { second, textOf } from '@handover/material';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { catalogue, MESH, on, World } from '../../test/world.ts';
import {
  converge,
  dryRun,
  formatAuthority,
  type IssuedEntry,
  type Ledger,
  parseAuthority,
  readableCertificates,
  reconcile,
} from '../index.ts';
import { type HistoryStep, MOST_BYTES, MOST_STEPS, withStep } from './history.ts';

const ID = 'default/mesh';
const OTHER = MESH.replaceAll('mesh', 'other')
  .replace('name: a}', 'name: c}')
  .replace('name: b}', 'name: d}');
let world: World;
let log: IssuedEntry[];
let refuses: Error | undefined;
beforeEach(() => {
  world = new World();
  log = [];
  refuses = undefined;
  const ledger: Ledger = {
    self: 'process 1 on here',
    issued: async (entry) => {
      if (refuses !== undefined) throw refuses;
      log.push(entry);
    },
    known: (asked) =>
      asked.kind === 'rotate'
        ? { askedBy: { via: 'request', user: 'ada', uid: 7 } }
        : { uid: `uid of ${asked.kind}` },
  };
  world.home = { ...world.home, ledger };
});

const rotate = async (id: string, resources = catalogue(MESH), authority = ID): Promise<void> => {
  world.rotate.push(id);
  for (let step = 0; step < 3; step++) {
    await converge(on(world.home, resources), authority);
    world.pass(20 * second);
  }
};

/** Certificates in the state and in every object that was written. */
const held = async (authorities: readonly string[] = [ID]): Promise<Set<string>> => {
  const found = new Set<string>();
  for (const id of authorities)
    for (const fingerprint of (await world.authorities.load(id))?.certificates.keys() ?? [])
      found.add(fingerprint);
  for (const id of new Set(world.objects.writes))
    for (const text of Object.values((await world.object(id)).data))
      for (const { fingerprint } of readableCertificates(text)) found.add(fingerprint);
  return found;
};

test('The issuance log has one entry for each CA, cross-certificate and leaf, with the origin of the request and the reason', async () => {
  await converge(on(world.home, catalogue(MESH)), ID);
  expect(log.map(({ kind, generation }) => `${kind} ${generation}`)).toEqual(['ca 1', 'leaf 1', 'leaf 1']);
  await rotate('q1');
  expect(log.slice(3).map(({ kind, generation, certifies }) => [kind, generation, certifies])).toEqual([
    ['ca', 2, undefined],
    ['cross', 1, 2],
    ['leaf', 2, undefined],
    ['leaf', 2, undefined],
  ]);
  const [first, leaf] = log;
  expect(first).toMatchObject({
    authority: ID,
    subject: expect.stringMatching(/^CN=mesh 1 /),
    usages: ['keyCertSign', 'cRLSign'],
    for: { kind: 'Authority', namespace: 'default', name: 'mesh', uid: 'uid of Authority' },
    askedBy: { via: 'resource' },
    why: 'the authority has no CA yet',
  });
  expect(leaf).toMatchObject({
    at: '2030-01-01T00:00:00.000Z',
    serial: expect.stringMatching(/^[0-9a-f]{16,40}$/),
    fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    dnsNames: ['a.local'],
    usages: ['serverAuth', 'clientAuth'],
    notBefore: '2029-12-31T23:00:00.000Z',
    for: { kind: 'Leaf', namespace: 'default', name: 'a', uid: 'uid of Leaf' },
    askedBy: { via: 'resource' },
  });
  // The request is gone by the time its cross-certificate is made: the history has its origin.
  for (const { askedBy } of log.slice(3, 5)) expect(askedBy).toEqual({ via: 'request', user: 'ada', uid: 7 });
});

test('The issuance log has every certificate that any object holds, for two authorities that rotate in turn', async () => {
  const both = catalogue(`${MESH}---${OTHER}`);
  await Promise.all([converge(on(world.home, both), ID), converge(on(world.home, both), 'default/other')]);
  await Promise.all([rotate('q1', both), rotate('q1', both, 'default/other')]);
  const known = new Map(log.map((entry) => [entry.fingerprint, entry]));
  expect(known.size).toBe(log.length);
  for (const fingerprint of await held([ID, 'default/other']))
    expect([...known.keys()]).toContain(fingerprint);
  for (const { authority, for: object } of log)
    if (object.kind === 'Leaf')
      expect([authority, ['a', 'b'].includes(object.name)]).toEqual([authority, authority === ID]);
});

test('The issuance log never holds a key, or a part of one', async () => {
  await converge(on(world.home, catalogue(MESH)), ID);
  await rotate('q1');
  const secrets: string[] = [];
  for (const id of ['default/secrets/a', 'default/secrets/b'])
    secrets.push(textOf((await world.object(id)).data['tls.key'] ?? new Uint8Array()));
  const record = await world.authorities.load(ID);
  if (record === undefined) throw new Error('no record');
  secrets.push(...Object.values<string>(JSON.parse(formatAuthority(ID, record)).keys));
  expect(secrets).toHaveLength(3);
  const bodies = secrets.map((pem) => pem.replace(/-----[^-]+-----|\s/g, ''));
  const written = `${JSON.stringify(log)}${JSON.stringify(record?.history)}`;
  expect(written).not.toContain('PRIVATE KEY');
  expect(written).not.toContain('BEGIN');
  fc.assert(
    fc.property(fc.constantFrom(...bodies), fc.nat(), (body, from) => {
      // The first 50 characters of a P-256 key give only the kind of key.
      const piece = body.slice(50 + (from % (body.length - 70))).slice(0, 16);
      const hex = Buffer.from(piece, 'base64').toString('hex');
      expect(written).not.toContain(piece);
      expect(written).not.toContain(hex);
    }),
  );
});

test('The issuance log that cannot be written stops every certificate from becoming visible', async () => {
  refuses = new Error('the disk is full');
  await expect(reconcile(on(world.home, catalogue(MESH)), ID)).rejects.toThrow('the disk is full');
  expect(await world.authorities.load(ID)).toBeUndefined();
  refuses = undefined;
  await reconcile(on(world.home, catalogue(MESH)), ID);
  refuses = new Error('the disk is full');
  await expect(reconcile(on(world.home, catalogue(MESH)), ID)).rejects.toThrow('the disk is full');
  expect(world.objects.writes.filter((id) => id.includes('/secrets/'))).toEqual([]);
  refuses = undefined;
  await converge(on(world.home, catalogue(MESH)), ID);
  const known = log.map(({ fingerprint }) => fingerprint);
  for (const fingerprint of await held()) expect(known).toContain(fingerprint);
});

test('The issuance log has no entry for a dry run', async () => {
  await converge(on(world.home, catalogue(MESH)), ID);
  const before = log.length;
  const home = on(world.home, catalogue(MESH));
  await converge(dryRun(home, await home.fresh(), { rotate: ['try'] }), ID);
  expect(log).toHaveLength(before);
});

describe('The history of an authority', () => {
  const history = async (): Promise<readonly HistoryStep[]> =>
    (await world.authorities.load(ID))?.history ?? [];

  test('The history of an authority has the origin of the request, the evidence that opened each gate, and the process that took the step', async () => {
    await converge(on(world.home, catalogue(MESH)), ID);
    await rotate('q1');
    expect(
      (await history()).map(({ step, rotation, askedBy, revision }) => [step, rotation, askedBy, revision]),
    ).toEqual([
      ['mint', undefined, { via: 'resource' }, 1],
      ['mint', 'q1', { via: 'request', user: 'ada', uid: 7 }, 2],
      ['activate', 'q1', undefined, 3],
      ['retire', 'q1', undefined, 4],
    ]);
    const [, mint, activate, retire] = await history();
    expect(mint?.evidence).toBeUndefined();
    expect(activate).toMatchObject({
      generations: [2],
      takenBy: 'process 1 on here',
      why: 'every verifier holds CA generation 2',
      counts: { settled: 3 },
    });
    expect(activate?.evidence).toContainEqual({
      consumer: 'readers of default/configmaps/mesh-trust/ca.crt',
      by: 'settled',
      at: world.now - 60 * second,
    });
    expect(retire).toMatchObject({ generations: [1], counts: { settled: 5 } });
  });

  test('The history of an authority has a distrust with the distrusted CA generation and its replacement', async () => {
    await converge(on(world.home, catalogue(MESH)), ID);
    await rotate('q1');
    world.distrust.push(2);
    await converge(on(world.home, catalogue(MESH)), ID);
    expect((await history()).at(-1)).toMatchObject({
      step: 'distrust',
      generations: [2],
      replacement: 3,
      askedBy: { via: 'request' },
    });
  });

  test('a rotation by schedule names the schedule as its origin', async () => {
    await converge(on(world.home, catalogue(MESH)), ID);
    world.pass(300 * 86_400 * second);
    await converge(on(world.home, catalogue(MESH)), ID);
    expect((await history()).at(-1)).toMatchObject({
      step: 'mint',
      rotation: 'schedule-1',
      askedBy: { via: 'schedule' },
    });
  });

  test('The history of an authority survives in the state file; a file without a history loads, and a damaged history is ignored', async () => {
    await converge(on(world.home, catalogue(MESH)), ID);
    await rotate('q1');
    const record = await world.authorities.load(ID);
    if (record === undefined) throw new Error('no record');
    const text = formatAuthority(ID, record);
    expect(parseAuthority(ID, text, 'file').history).toEqual(JSON.parse(JSON.stringify(record.history)));
    const { history: _, ...old } = JSON.parse(text);
    expect(parseAuthority(ID, JSON.stringify(old), 'file').history).toEqual([]);
    for (const history of [7, 'x', [null, { step: 'mint' }, { at: 'now', step: 'eat' }]])
      expect(parseAuthority(ID, JSON.stringify({ ...old, history }), 'file').history).toEqual([]);
  });

  test('The history of an authority is bounded, however long the names of consumers are and however many consumers there are', () => {
    const step = (revision: number): HistoryStep => ({
      at: world.now,
      step: 'activate',
      generations: [revision],
      why: 'every verifier holds it',
      evidence: Array.from({ length: 50 }, () => ({
        consumer: '漢'.repeat(250),
        by: 'settled',
        at: world.now,
      })),
      counts: { settled: 5_000 },
      revision,
    });
    let steps: readonly HistoryStep[] = [];
    for (let revision = 1; revision <= 120; revision++) {
      steps = withStep(steps, step(revision));
      expect(Buffer.byteLength(JSON.stringify(steps))).toBeLessThanOrEqual(MOST_BYTES);
    }
    expect(steps).toHaveLength(MOST_STEPS);
    expect(steps.map(({ revision }) => revision)).toEqual(
      Array.from({ length: 50 }, (_, index) => 71 + index),
    );
    expect(steps.at(-1)?.evidence).toHaveLength(50);
    expect(steps[0]).toMatchObject({ counts: { settled: 5_000 } });
    expect(steps[0]?.evidence).toBeUndefined();
  });
});
