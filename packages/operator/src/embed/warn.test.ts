import { HandoverError } from '@handover/material';
import { expect, test } from 'vitest';
import { warnOfFailures } from './warn.ts';

test('a failure is said once a minute, another one at once, and nothing else is', () => {
  const said: string[] = [];
  let now = 0;
  const on = warnOfFailures(
    (message, code) => said.push(`${code} ${message}`),
    () => now,
  );
  const fail = (what: string, code = 'KUBE_UNAVAILABLE') =>
    on({ kind: 'failed', what, error: new HandoverError(code, 'no answer'), retryAt: undefined });
  on({ kind: 'leading', held: true });
  fail('a');
  fail('a');
  fail('b');
  fail('a', 'KUBE_FORBIDDEN');
  now = 60_000;
  fail('a');
  expect(said).toEqual([
    'KUBE_UNAVAILABLE a: no answer; trying again',
    'KUBE_UNAVAILABLE b: no answer; trying again',
    'KUBE_FORBIDDEN a: no answer; trying again',
    'KUBE_UNAVAILABLE a: no answer; trying again',
  ]);
});
