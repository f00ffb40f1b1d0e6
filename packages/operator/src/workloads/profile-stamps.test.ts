import { TLS_PROFILE_HASH } from '@handover/core';
import { instant } from '@handover/material';
import { expect, test } from 'vitest';
import { ProfileStamps } from './profile-stamps.ts';

const WEB = 'Deployment shop/web';
const at = (version: string, stamp?: string) => ({
  version,
  annotations: stamp === undefined ? {} : { [TLS_PROFILE_HASH]: stamp },
});

test('a stamp that another program removes, or sets back, is counted once for each time that it was written', () => {
  const stamps = new ProfileStamps();
  const undone = (version: string, stamp?: string, now = 1) =>
    stamps.undone(WEB, at(version, stamp), instant(now));
  expect(undone('1')).toBeUndefined();
  stamps.wrote(WEB, 'new', '1');
  // A watch that is behind, then one that shows the stamp.
  expect([undone('1'), undone('2', 'new')]).toEqual([undefined, undefined]);
  expect(undone('3', undefined, 10)).toEqual({ hash: 'new', times: 1, last: 10 });
  expect(undone('4', undefined, 20)).toEqual({ hash: 'new', times: 1, last: 10 });
  stamps.wrote(WEB, 'new', '4');
  expect(undone('4', undefined, 30)).toEqual({ hash: 'new', times: 1, last: 10 });
  expect(undone('5', 'old', 40)).toEqual({ hash: 'new', times: 2, last: 40 });
});

test('a stamp of another profile begins anew, and so does one of another workload', () => {
  const stamps = new ProfileStamps();
  stamps.wrote(WEB, 'one', '1');
  expect(stamps.undone(WEB, at('2'), instant(1))).toMatchObject({ times: 1 });
  stamps.wrote(WEB, 'two', '2');
  expect(stamps.undone(WEB, at('3', 'two'), instant(2))).toBeUndefined();
  expect(stamps.undone('Deployment shop/api', at('3'), instant(2))).toBeUndefined();
});

test('stamps of one namespace, however many, make nothing be forgotten of another', () => {
  const stamps = new ProfileStamps();
  stamps.wrote(WEB, 'one', '1');
  for (let i = 0; i < 5_000; i++) stamps.wrote(`Deployment evil/${i}`, 'one', '1');
  expect(stamps.undone(WEB, at('2'), instant(1))).toMatchObject({ times: 1 });
});

test('of many thousand stamped workloads only the last ones are remembered', () => {
  const stamps = new ProfileStamps();
  for (let i = 0; i < 2_001; i++) stamps.wrote(`Deployment shop/${i}`, 'one', '1');
  expect(stamps.undone('Deployment shop/0', at('2'), instant(1))).toBeUndefined();
  expect(stamps.undone('Deployment shop/1', at('2'), instant(1))).toBeDefined();
});
