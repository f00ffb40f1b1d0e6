import { instant } from '@handover/material';
import { describe, expect, test } from 'vitest';
import { LiveLine, timeLeft, type Waiting, waitingLine } from './waiting.ts';

const now = instant(Date.UTC(2030, 0, 1));
const waiting: Waiting = {
  phase: 'Introducing',
  blockedBy: [
    { consumer: 'web', waitsFor: 'to load CA generation 2', since: now },
    { consumer: 'db', waitsFor: 'to load CA generation 2', since: now },
  ],
  dueAt: instant(now + 100_000),
};

test.each([
  [0, '0s'],
  [-5_000, '0s'],
  [1, '1s'],
  [59_001, '1m'],
  [100_000, '1m 40s'],
  [3_600_000, '1h'],
  [3_605_000, '1h'],
  [93_780_000, '1d 2h'],
  [5 * 365 * 86_400_000, '1825d'],
])('%d ms are printed as %s left', (ms, text) => {
  expect(timeLeft(ms)).toBe(text);
});

test('a line about a wait has its phase, its blockers and the time left, if it is known', () => {
  expect(waitingLine({ ...waiting, endsAt: instant(now + 600_000) }, now)).toBe(
    'Introducing, due in 1m 40s, this command waits for 10m more: waiting for web, db to load CA generation 2',
  );
  expect(waitingLine({ ...waiting, phase: 'Stable', blockedBy: [] }, now)).toBe('Stable');
  expect(waitingLine({ phase: 'Retiring', blockedBy: [], dueAt: undefined }, now)).toBe('Retiring');
  const steering = { ...waiting, blockedBy: [{ consumer: 'a\u001b[2Jb', waitsFor: 'to x', since: now }] };
  expect(waitingLine(steering, now)).toContain('waiting for a?[2Jb to x');
});

describe('A line about a wait', () => {
  const said = (isTTY: boolean, columns = 200) => {
    const written: string[] = [];
    return { written, line: new LiveLine({ write: (text) => written.push(text), isTTY, columns }) };
  };

  test('a line about a wait counts down in place on a terminal, never wraps, and is gone at the end', () => {
    const { written, line } = said(true, 40);
    line.show(waiting, now);
    line.show(waiting, instant(now + 1_000));
    line.clear();
    line.clear();
    expect(written).toEqual([
      '\r\u001b[KIntroducing, due in 1m 40s: waiting fo…',
      '\r\u001b[KIntroducing, due in 1m 39s: waiting fo…',
      '\r\u001b[K',
    ]);
  });

  test('a line about a wait is plain without a terminal, and is repeated only when more than the time changed', () => {
    const { written, line } = said(false);
    line.show(waiting, now);
    line.show(waiting, instant(now + 1_000));
    line.show({ ...waiting, phase: 'Activating' }, instant(now + 2_000));
    line.clear();
    expect(written).toEqual([
      'Introducing, due in 1m 40s: waiting for web, db to load CA generation 2\n',
      'Activating, due in 1m 38s: waiting for web, db to load CA generation 2\n',
    ]);
  });
});
