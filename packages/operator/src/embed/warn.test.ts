import { HandoverError, VirtualClock } from '@handover/material';
import { expect, test } from 'vitest';
import { warnOfFailures } from './warn.ts';

test('an embedded operator warns of one failure once a minute, of another at once, and of nothing else', () => {
  const said: string[] = [];
  const clock = new VirtualClock();
  const on = warnOfFailures(clock, (message, code) => said.push(`${code} ${message}`));
  const fail = (what: string, code = 'KUBE_UNAVAILABLE') =>
    on({ kind: 'failed', what, error: new HandoverError(code, 'no answer'), retryAt: undefined });
  on({ kind: 'leading', held: true });
  fail('a');
  fail('a');
  fail('b');
  fail('a', 'KUBE_FORBIDDEN');
  clock.stall(60_000);
  fail('a');
  expect(said).toEqual([
    'KUBE_UNAVAILABLE a: no answer; trying again',
    'KUBE_UNAVAILABLE b: no answer; trying again',
    'KUBE_FORBIDDEN a: no answer; trying again',
    'KUBE_UNAVAILABLE a: no answer; trying again',
  ]);
});
