import { plan } from '@handover/core';
import { expect, test } from 'vitest';
import { normaliser, type State } from './model.ts';
import { movesFrom } from './moves.ts';
import { SharedParts } from './parts.ts';
import { worlds } from './worlds.ts';

test('equal states of a world have one name, whichever objects they are made of', () => {
  const parts = new SharedParts();
  for (const world of worlds) {
    const { initial } = world;
    expect(parts.nameOf(structuredClone(initial))).toBe(parts.nameOf(initial));
    expect(parts.nameOf(parts.shared(structuredClone(initial)))).toBe(parts.nameOf(initial));
    expect(parts.shared(initial)).toEqual(initial);
  }
});

test('states that differ in any part have different names', () => {
  for (const world of worlds) {
    const parts = new SharedParts();
    const normalise = normaliser(world);
    const texts = new Map<string, string>();
    let layer = [normalise(world.initial)];
    for (let depth = 0; depth < 4; depth++) {
      const next: State[] = [];
      for (const state of layer.slice(0, 40)) {
        for (const { state: moved } of movesFrom(world, state, plan)) {
          const after = normalise(moved);
          const text = JSON.stringify(sorted(after));
          const name = parts.nameOf(after);
          expect(texts.get(name) ?? text).toBe(text);
          if (!texts.has(name)) next.push(parts.shared(after));
          texts.set(name, text);
        }
      }
      layer = next;
    }
    expect(new Set(texts.values()).size).toBe(texts.size);
    expect(texts.size).toBeGreaterThan(1);
  }
});

/** The same state with its objects and consumers in the order of their names. */
const sorted = (state: State): State => ({
  ...state,
  objects: byName(state.objects),
  consumers: byName(state.consumers),
});
const byName = <T>(record: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
