import { Board } from '@handover/dashboard';
import { HandoverError } from '@handover/material';
import type { Operator } from '@handover/operator';
import { expect, test } from 'vitest';
import { noteOf, tellBoardOf } from './board.ts';

const replica = (leads: boolean, leader?: string): Operator => ({ leads, leader }) as Operator;

test('a replica that does not lead says so, and who does', () => {
  expect(noteOf(replica(true, 'a'))).toBeUndefined();
  expect(noteOf(replica(false, 'handover-7c9-abc'))).toContain('handover-7c9-abc');
  expect(noteOf(replica(false))).toContain('Nobody leads yet');
});

test('what an operator repaired, was refused or failed at is on the board, with who had changed it', async () => {
  const board = new Board({ title: 'x', now: () => 0, repairsTold: true });
  tellBoardOf(board, { kind: 'repaired', object: 'APIService v1.x', manager: 'an-installer' });
  tellBoardOf(board, { kind: 'refused', object: 'CRD y', why: 'cainjector keeps it' });
  tellBoardOf(board, { kind: 'obstructed', authority: 'a/b', obstacles: ['a/secrets/c: forbidden'] });
  tellBoardOf(board, {
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
