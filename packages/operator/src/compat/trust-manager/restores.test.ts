import { instant } from '@handover/material';
import { expect, test } from 'vitest';
import { Restores } from './restores.ts';

test('a target that is changed again and again is left after ten restores, until five minutes have passed', () => {
  const restores = new Restores();
  const at = (seconds: number): boolean => restores.may('ConfigMap a/b', instant(seconds * 1_000));
  for (let second = 0; second < 10; second++) expect(at(second)).toBe(true);
  expect(at(10)).toBe(false);
  expect(restores.may('ConfigMap a/c', instant(10_000))).toBe(true);
  expect(at(299)).toBe(false);
  expect(at(300)).toBe(true);
  expect(at(300)).toBe(false);
});
