import { type Certificate, instant } from '@handover/material';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { merged } from './merge.ts';

const HOUR = 3_600_000;
const NOW = instant(1_000 * HOUR);

/** As much of a certificate as counts here. */
const certificate = (fingerprint: string, notBefore: number, notAfter: number): Certificate =>
  ({ fingerprint, notBefore: instant(notBefore), notAfter: instant(notAfter) }) as Certificate;
const names = (certificates: readonly Certificate[]): string =>
  certificates.map(({ fingerprint }) => fingerprint).join(' ');

const old = certificate('a-old', 900 * HOUR, 1_100 * HOUR);
const fresh = certificate('z-fresh', 990 * HOUR, 1_200 * HOUR);
const expired = certificate('expired', 800 * HOUR, 998 * HOUR);

test('a new CA comes before an older CA in a merged bundle', () => {
  expect(names(merged([fresh], [old], NOW))).toBe('z-fresh a-old');
});

test('an expired CA leaves a merged bundle an hour late, from the source and from the target', () => {
  expect(names(merged([fresh, expired], [], NOW))).toBe('z-fresh');
  expect(names(merged([fresh], [expired], NOW))).toBe('z-fresh');
  const justExpired = certificate('just', 900 * HOUR, 999.5 * HOUR);
  expect(names(merged([fresh], [justExpired], NOW))).toBe('z-fresh just');
});

test('a merged bundle holds each certificate once', () => {
  expect(names(merged([fresh, fresh], [fresh, old, old], NOW))).toBe('z-fresh a-old');
});

test('a merged bundle keeps expired CAs if the source has no others: an empty bundle means the system’s roots', () => {
  expect(names(merged([expired], [], NOW))).toBe('expired');
});

const certificates = fc.array(
  fc
    .tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 5 }))
    .map(([id, age]) => certificate(`c${id}`, (900 + id + age * 0) * HOUR, (995 + id) * HOUR)),
  { maxLength: 8 },
);

test('a merged bundle has one order, is never empty, holds every valid CA of the source, and does not change when merged again', () => {
  fc.assert(
    fc.property(certificates, certificates, (source, before) => {
      fc.pre(source.length > 0);
      const first = merged(source, before, NOW);
      expect(first.length).toBeGreaterThan(0);
      expect(names(merged([...source].reverse(), [...before].reverse(), NOW))).toBe(names(first));
      expect(names(merged(source, first, NOW))).toBe(names(first));
      for (const one of source)
        if (one.notAfter > NOW)
          expect(first.some(({ fingerprint }) => fingerprint === one.fingerprint)).toBe(true);
    }),
  );
});
