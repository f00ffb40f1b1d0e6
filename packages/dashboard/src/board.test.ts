import { formatAuthority } from '@handover/engine';
import { bytesOf, HandoverError, textOf } from '@handover/material';
import { expect, test } from 'vitest';
import { AUTHORITY, Fleet } from '../test/fleet.ts';
import type { AuthorityPart, TrustGrid } from './document.ts';

const shown = async (fleet: Fleet): Promise<AuthorityPart> =>
  (await fleet.board.part(`authority/${AUTHORITY}`))?.data as AuthorityPart;

/** What one is before another. */
const between = ({ presenters, verifiers, cells }: TrustGrid, presenter: string, verifier: string) => {
  const row = presenters.find(({ name }) => name === presenter)?.group ?? -1;
  const column = verifiers.find(({ name }) => name === verifier)?.group ?? -1;
  return cells[row]?.[column];
};

const ready = async (size: number): Promise<Fleet> => {
  const fleet = new Fleet(size);
  await fleet.settle();
  await fleet.load();
  await fleet.settle();
  return fleet;
};

const [A, B, C] = ['service-1', 'service-2', 'service-3'] as const;

test('The grid is green where every consumer has confirmed the only generation', async () => {
  const { trust, status } = await shown(await ready(3));
  expect(status.phase).toBe('Stable');
  expect(trust.step).toBeNull();
  expect(trust.cells.flat().map(({ now, next }) => [now, next])).toEqual(
    trust.cells.flat().map(() => ['ok', null]),
  );
});

test('A pair whose server loads its files by its owner’s word alone is no green one', async () => {
  const fleet = new Fleet(3, undefined, [B]);
  await fleet.settle();
  await fleet.load();
  fleet.pass(2 * 3_600_000);
  await fleet.settle();
  const { trust, status } = await shown(fleet);
  expect(status.phase).toBe('Stable');
  expect(status.evidence).toEqual({ shown: 2, assumed: 1, notNeeded: 0, none: 0 });
  expect(between(trust, A, C)).toEqual({ now: 'ok', next: null });
  expect(between(trust, B, A)?.now).toBe('assumed');
  expect(between(trust, A, B)?.now).toBe('assumed');
});

test('The grid is amber for a verifier that has not confirmed the new CA, and the cross-certificate keeps every pair accepted', async () => {
  const fleet = await ready(3);
  fleet.rotate.push('r1');
  await fleet.settle();
  await fleet.load([A]);
  await fleet.settle();
  const { trust, status } = await shown(fleet);
  expect(status.phase).toBe('Introducing');
  expect(trust.step).toBe('sign with CA generation 2');
  expect(between(trust, B, A)).toEqual({ now: 'ok', next: 'ok' });
  expect(between(trust, A, B)).toMatchObject({ now: 'waits', next: 'waits' });
  expect(between(trust, A, B)?.why).toContain('generation 2');
  expect(between(trust, A, B)?.whyNext).toContain('cross-certificate');
});

test('The grid says that retiring now would break servers with an old leaf, until the last one has confirmed a new leaf', async () => {
  const fleet = await ready(3);
  fleet.rotate.push('r1');
  await fleet.settle();
  await fleet.load();
  await fleet.settle();
  await fleet.load([A, C]);
  await fleet.settle();
  const { trust, status, awaited } = await shown(fleet);
  expect(status.phase).toBe('Activating');
  expect(trust.step).toBe('retire CA generation 1');
  expect(between(trust, A, C)).toEqual({ now: 'ok', next: 'ok' });
  expect(between(trust, B, A)).toMatchObject({ now: 'waits', next: 'fails' });
  expect(between(trust, A, B)?.now).toBe('ok');
  expect(awaited).toEqual([{ name: B, waitsFor: ['to load a leaf of CA generation 2'] }]);
  await fleet.load([B]);
  await fleet.settle();
  await fleet.load();
  await fleet.settle();
  expect((await shown(fleet)).trust.cells.flat().every(({ now }) => now === 'ok')).toBe(true);
  expect((await shown(fleet)).status.phase).toBe('Stable');
});

test('The grid is red where the files themselves do not verify, with the reason', async () => {
  const fleet = await ready(2);
  const other = await ready(1);
  const bundle = (await other.objects.read('shop/secrets/service-1'))?.data['ca.crt'] ?? new Uint8Array();
  const stored = await fleet.objects.read('shop/secrets/service-1');
  fleet.objects.put('shop/secrets/service-1', {
    data: { ...stored?.data, 'ca.crt': bundle },
    ...(stored?.record === undefined ? {} : { record: stored.record }),
  });
  await fleet.once();
  const cell = between((await shown(fleet)).trust, B, A);
  expect(cell?.now).toBe('fails');
  expect(cell?.why).toMatch(/^[A-Z_]+: /);
});

test('The grid of a thousand services is no larger than what is different in it', async () => {
  const fleet = await ready(200);
  fleet.rotate.push('r1');
  await fleet.settle();
  await fleet.load(fleet.names.slice(0, 150));
  await fleet.settle();
  const { trust } = await shown(fleet);
  expect(trust.presenters).toHaveLength(200);
  expect(trust.cells.length * (trust.cells[0]?.length ?? 0)).toBeLessThanOrEqual(9);
  expect(between(trust, 'service-001', 'service-200')?.now).toBe('waits');
  expect(between(trust, 'service-200', 'service-001')?.now).toBe('ok');
});

test('The history shows which CA generation signed and which was trusted, from the first to the second', async () => {
  const fleet = await ready(1);
  fleet.rotate.push('r1');
  for (let step = 0; step < 4; step++) {
    await fleet.settle();
    await fleet.load();
  }
  const { history } = await shown(fleet);
  expect(
    history.spans.map(({ generation, role, to, known }) => [generation, role, to !== null, known]),
  ).toEqual([
    [1, 'current', true, 'state'],
    [2, 'next', true, 'seen'],
    [1, 'previous', true, 'seen'],
    [2, 'current', false, 'seen'],
  ]);
  for (const { from, to } of history.spans)
    expect(Date.parse(to ?? '2031-01-01')).toBeGreaterThanOrEqual(Date.parse(from));
});

test('The history after a restart says what the state still says, and that this is all it knows', async () => {
  const fleet = await ready(1);
  fleet.rotate.push('r1');
  await fleet.settle();
  fleet.pass(60_000);
  await fleet.load();
  await fleet.settle();
  const { HistoryKeeper } = await import('./history.ts');
  const keeper = new HistoryKeeper(fleet.now);
  keeper.saw((await fleet.authorities.load(AUTHORITY))?.state, fleet.now);
  expect(keeper.history().spans.map(({ generation, role, known }) => [generation, role, known])).toEqual([
    [1, 'current', 'state'],
    [2, 'next', 'state'],
    [1, 'previous', 'state'],
    [2, 'current', 'state'],
  ]);
});

test('The history is bounded, however many rotations there are', async () => {
  const { HistoryKeeper } = await import('./history.ts');
  const keeper = new HistoryKeeper(0);
  const generation = (number: number) => ({
    number,
    role: 'current' as const,
    anchors: [{ fingerprint: `${number}`, notBefore: 0, notAfter: 1 }],
    hasKey: true,
    since: number,
  });
  for (let n = 1; n < 1_000; n++)
    keeper.saw(
      {
        revision: n,
        generations: [generation(n)],
        crosses: [],
        ids: [],
        distrusts: 0,
        lastGeneration: n,
      } as never,
      n,
    );
  expect(keeper.history().spans.length).toBeLessThanOrEqual(121);
});

test('The log names and counts objects that were restored after a change or a deletion', async () => {
  const fleet = await ready(2);
  const stored = await fleet.objects.read('shop/secrets/service-1');
  fleet.objects.put('shop/secrets/service-1', {
    data: { ...stored?.data, 'ca.crt': bytesOf('nonsense') },
    ...(stored?.record === undefined ? {} : { record: stored.record, seal: stored.claim?.seal }),
  });
  await fleet.settle();
  const { log, about } = await fleet.board.document();
  expect(log.filter(({ kind }) => kind === 'repair')).toMatchObject([
    { about: 'shop/secrets/service-1', text: 'another program had changed it' },
  ]);
  expect(about.repairs).toBe(1);
});

test('The log is bounded, and shows nothing of foreign errors but that there was one', async () => {
  const { board } = await ready(1);
  for (let n = 0; n < 500; n++) board.failed(`Authority ${n}`, new HandoverError('CONFLICT', 'look again'));
  board.failed('Authority x', new Error('-----BEGIN PRIVATE KEY-----'));
  const { log } = await board.document();
  expect(log).toHaveLength(100);
  expect(log[0]).toMatchObject({ kind: 'failure', text: 'INTERNAL: see the log' });
});

test('figures of handshakes cover the last ten minutes', async () => {
  const { board } = await ready(1);
  for (let n = 0; n < 1_000; n++) board.counted(10, n === 999 ? 1 : 0);
  const { figures } = await board.document();
  expect(figures).toMatchObject({ handshakes: 10_001, failures: 1 });
  expect(figures?.at).toHaveLength(600);
});

test('an authority that is no longer declared is no longer shown', async () => {
  const { board } = await ready(1);
  board.keepOnly(new Set());
  expect((await board.document()).authorities).toEqual([]);
  expect(await board.part(`authority/${AUTHORITY}`)).toBeUndefined();
});

test('no document holds a private key or a part of one, though every snapshot does', async () => {
  const fleet = await ready(3);
  fleet.rotate.push('r1');
  await fleet.settle();
  const record = await fleet.authorities.load(AUTHORITY);
  const secrets = [
    ...Object.values<string>(record === undefined ? {} : JSON.parse(formatAuthority(AUTHORITY, record)).keys),
    ...(await Promise.all(
      fleet.names.map(async (name) =>
        textOf((await fleet.objects.read(`shop/secrets/${name}`))?.data['tls.key'] ?? new Uint8Array()),
      ),
    )),
  ];
  const text = JSON.stringify([
    await fleet.board.document(),
    ...(await Promise.all(fleet.board.parts().map((part) => fleet.board.part(part)))),
  ]);
  expect(secrets).toHaveLength(5);
  expect(text).not.toContain('PRIVATE KEY');
  for (const secret of secrets)
    for (const line of secret.split('\n').filter((each) => each.length > 20))
      expect(text).not.toContain(line.slice(0, 20));
});
