import { after, instant, minute, second } from '@handover/material';
import { expect, test } from 'vitest';
import { Contention } from './contention.ts';

const START = instant(1_000_000_000);
const at = (seconds: number) => after(START, seconds * second);

const fought = (times: number, everySeconds: number, manager = 'old-pod'): Contention => {
  const contention = new Contention();
  for (let turn = 0; turn < times; turn++) contention.repaired('x', manager, at(turn * everySeconds));
  return contention;
};

test('five repairs in half a minute are no fight; the sixth is, and the standoff names the manager', () => {
  expect(fought(5, 5).standoff('x', at(21))).toBeUndefined();
  expect(fought(6, 5).standoff('x', at(26))).toEqual({ manager: 'old-pod', until: at(25 + 60) });
});

test('S0.8 three pods of an old version that write every 30 s are repaired each time, for an hour', () => {
  const contention = new Contention();
  for (let turn = 0; turn < 120; turn++) {
    for (const late of [0, 1, 12]) {
      contention.repaired('x', 'old-pod', at(30 * turn + late));
      expect(contention.standoff('x', at(30 * turn + late))).toBeUndefined();
    }
  }
});

test('a writer that comes once in 30 s after a truce is no longer a fight', () => {
  const contention = fought(6, 1);
  contention.repaired('x', 'old-pod', at(5 + 60 + 30));
  expect(contention.standoff('x', at(5 + 60 + 30))).toBeUndefined();
});

test('six repairs after changes by six managers are no fight with one of them', () => {
  const contention = new Contention();
  for (let turn = 0; turn < 6; turn++) contention.repaired('x', `manager-${turn}`, at(turn));
  expect(contention.standoff('x', at(7))).toBeUndefined();
});

test('a fight over one object does not affect the others', () => {
  expect(fought(6, 1).standoff('y', at(6))).toBeUndefined();
});

test('a truce ends; if the fight goes on, one repair starts the next truce, twice as long, up to half an hour', () => {
  const contention = fought(6, 1);
  expect(contention.standoff('x', at(5 + 60))).toBeUndefined();
  let now = at(5 + 60);
  const truces: number[] = [];
  for (let round = 0; round < 7; round++) {
    contention.repaired('x', 'old-pod', now);
    const { until } = contention.standoff('x', now) ?? { until: now };
    truces.push((until - now) / minute);
    now = until;
  }
  expect(truces).toEqual([2, 4, 8, 16, 30, 30, 30]);
});

test('a fight of a day ago does not count', () => {
  const contention = fought(6, 1);
  const nextDay = at(86_400);
  contention.repaired('x', 'old-pod', nextDay);
  expect(contention.standoff('x', nextDay)).toBeUndefined();
  for (let turn = 1; turn <= 5; turn++) contention.repaired('x', 'old-pod', after(nextDay, turn * second));
  expect(contention.standoff('x', after(nextDay, 6 * second))?.until).toBe(
    after(nextDay, 5 * second + minute),
  );
});
