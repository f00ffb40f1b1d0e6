import type { Plan } from '@handover/core';
import type { ControllerEvent } from '@handover/engine';
import { expect, test } from 'vitest';
import { sayToStranger } from './say.ts';

const plan = (part: Partial<Plan>): Plan => ({
  phase: 'Activating',
  actions: [],
  blockedBy: [],
  notes: [],
  retained: [],
  wakeAt: undefined,
  ...part,
});

test('an embedded operator reports steps and waits in words, without keys', () => {
  const observation = { key: 'the CA’s key' };
  const acted = {
    kind: 'acted',
    authority: 'own/own',
    plan: plan({
      actions: [
        { kind: 'retire', generation: 1, why: 'no server uses it', expect: 4, revision: 5 },
      ] as Plan['actions'],
    }),
    observation,
    actions: [],
  } as unknown as ControllerEvent;
  expect(sayToStranger(acted)).toEqual({
    kind: 'acted',
    authority: 'own/own',
    phase: 'Activating',
    did: ['Retire CA generation 1 and destroy its key, because no server uses it.'],
  });
  const rested = {
    kind: 'rested',
    authority: 'own/own',
    plan: plan({ blockedBy: [{ consumer: 'own', waitsFor: 'to load a new leaf', since: 0 }] as never }),
    observation,
    vitals: {},
  } as unknown as ControllerEvent;
  expect(sayToStranger(rested)).toEqual({
    kind: 'rested',
    authority: 'own/own',
    phase: 'Activating',
    waitsFor: ['waiting for own to load a new leaf'],
  });
});

test('an embedded operator passes a failure on unchanged', () => {
  const failed = {
    kind: 'failed',
    what: 'a watch',
    error: new Error('no answer'),
    retryAt: undefined,
  } as const;
  expect(sayToStranger(failed)).toBe(failed);
});
