import { Board } from '@handover/dashboard';
import { connect, secrets } from '@handover/kube';
import { HandoverError } from '@handover/material';
import { Operator, RESOURCE_KINDS } from '@handover/operator';
import { expect, onTestFinished, test } from 'vitest';
import { ClusterWorld } from '../../test/cluster-world.ts';
import { tellBoard } from '../tell-board.ts';
import { followLeader, noteOf, restOf } from './board.ts';

const replica = (leads: boolean, leader?: string): Operator => ({ leads, leader }) as Operator;

test('the page of a replica that does not lead says so, and names the leader', () => {
  expect(noteOf(replica(true, 'a'))).toBeUndefined();
  expect(noteOf(replica(false, 'handover-7c9-abc'))).toContain('handover-7c9-abc');
  expect(noteOf(replica(false))).toContain('No replica leads yet');
});

test('the page of an operator shows repairs, refusals and failures, with the program that made the change', async () => {
  const board = new Board({ title: 'x', now: () => 0, repairsTold: true });
  tellBoard(board, { kind: 'repaired', object: 'APIService v1.x', manager: 'an-installer' });
  tellBoard(board, { kind: 'refused', object: 'CRD y', why: 'cainjector keeps it' });
  tellBoard(board, { kind: 'obstructed', authority: 'a/b', obstacles: ['a/secrets/c: forbidden'] });
  tellBoard(board, {
    kind: 'failed',
    what: 'Authority a/b',
    error: new HandoverError('KUBE_UNAVAILABLE', 'no answer'),
    retryAt: undefined,
  });
  const { log, about } = await board.document();
  expect(about.repairs).toBe(1);
  expect(log.map(({ kind, about: what, text }) => [kind, what, text])).toEqual([
    ['failure', 'Authority a/b', 'KUBE_UNAVAILABLE: no answer'],
    ['failure', 'a/b', 'OBSTRUCTED: a/secrets/c: forbidden'],
    ['failure', 'CRD y', 'NOT_INJECTED: cainjector keeps it'],
    ['repair', 'APIService v1.x', 'an-installer had changed it'],
  ]);
});

test('the page of the leader shows its actions, and the page of another replica what the leader recorded', async () => {
  const world = await ClusterWorld.open({ namespaces: ['handover-system', 'shop', 'tenant'] });
  const { server, kube, clock } = world;
  const end = new AbortController();
  const client = () => connect(server.config, { signal: new AbortController().signal, clock });
  const replica = (identity: string) => {
    const board: Board = new Board({
      title: identity,
      now: () => clock.now(),
      repairsTold: true,
      note: () => noteOf(operator),
      rest: () => restOf(operator, board),
    });
    const operator: Operator = new Operator({
      kube: client(),
      namespace: 'handover-system',
      identity,
      on: (event) => tellBoard(board, event),
    });
    return { board, operator, running: operator.run(end.signal) };
  };
  const first = replica('first');
  await clock.until(() => first.operator.leads);
  const second = replica('second');
  onTestFinished(async () => {
    end.abort();
    await clock.during(Promise.all([first.running, second.running]));
  });
  void followLeader(second.operator, second.board, clock, end.signal);
  await world.authority('shop/mesh');
  await world.leaf('shop/gateway', 'mesh');
  const shown = async ({ board }: { board: Board }) => {
    const { authorities, about } = await board.document();
    return { phase: authorities[0]?.phase, leaf: authorities[0]?.leaves[0]?.generation, note: about.note };
  };
  await world.soon(async () => expect(await shown(first)).toEqual({ phase: 'Stable', leaf: 1, note: null }));
  await world.soon(async () =>
    expect(await shown(second)).toEqual({
      phase: 'Stable',
      leaf: 1,
      note: expect.stringMatching(/^first leads/),
    }),
  );
  await world.authority('tenant/a');
  const states = async () => (await kube.list(secrets, { namespace: 'handover-system' })).items.length;
  await world.soon(async () => expect(await states()).toBe(2));
  // Its new namesake has no right to the state of the old one, which is that Authority's trouble alone.
  await kube.delete(RESOURCE_KINDS.Authority, { namespace: 'tenant', name: 'a' });
  await world.authority('tenant/a');
  await world.authority('tenant/invalid', { rotation: { settle: '3m' } });
  await world.leaf('shop/later', 'mesh');
  const known = async () => {
    const { authorities, remarks } = await second.board.document();
    const mesh = authorities.find(({ name }) => name === 'mesh');
    return { leaves: mesh?.leaves.map(({ generation }) => generation), remarks };
  };
  await world.soon(async () =>
    expect(await known()).toEqual({
      leaves: [1, 1],
      remarks: [
        expect.stringMatching(/^Authority tenant\/invalid: RESOURCE_INVALID: spec\.rotation\.settle/),
      ],
    }),
  );
  // A replica that only watches writes nothing.
  expect((await second.board.document()).log).toEqual([]);
});
