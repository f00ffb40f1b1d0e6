import { day, duration, hour, instant } from '@handover/material';
import { describe, expect, it } from 'vitest';
import { Certificates } from './certificates.ts';

const START = instant(Date.UTC(2030, 0, 1));
const YEAR = duration(365 * day);

const twoGenerations = () => {
  const certificates = new Certificates();
  const one = certificates.mintCa(1, START, YEAR).fingerprint;
  const two = certificates.mintCa(2, START, YEAR).fingerprint;
  const leaf = certificates.leaf(two, instant(START - hour), instant(START + day));
  const cross = certificates.cross(two, one, START).fingerprint;
  return { certificates, one, two, leaf, cross };
};

describe('certificates of a world', () => {
  it('lets the cross-certificate vouch for a new leaf to whoever holds only the old CA', () => {
    const { certificates, one, two, leaf, cross } = twoGenerations();
    for (const bundle of [[one], [two], [two, one], [one, two]]) {
      expect(certificates.verdict([leaf, cross], bundle, START)).toEqual({ ok: true });
    }
    expect(certificates.verdict([leaf], [one], START).ok).toBe(false);
  });

  it('asks the chain check once per chain and bundle, however time goes on within their dates', () => {
    const { certificates, two, leaf } = twoGenerations();
    for (let minute = 0; minute < 100; minute++) {
      expect(certificates.verdict([leaf], [two], instant(START + minute * 60_000)).ok).toBe(true);
    }
    expect(certificates.checks).toBe(1);
  });

  it('changes its mind at the very end of a leaf', () => {
    const { certificates, two, leaf } = twoGenerations();
    const end = certificates.of(leaf).notAfter;
    expect(certificates.judge([leaf], [two], instant(end - 1)).until).toBe(end);
    expect(certificates.verdict([leaf], [two], instant(end - 1)).ok).toBe(true);
    expect(certificates.verdict([leaf], [two], end).ok).toBe(false);
    expect(certificates.verdict([leaf], [two], instant(end - 1)).ok).toBe(true);
  });

  it('shares one leaf among all presenters of one issue, and tells twins apart', () => {
    const { certificates, two, leaf } = twoGenerations();
    expect(certificates.leaf(two, instant(START - hour), instant(START + day))).toBe(leaf);
    expect(certificates.leaf(two, instant(START - hour), instant(START + day), 1)).not.toBe(leaf);
    expect(certificates.label(leaf)).toBe('leaf of 2');
  });
});
