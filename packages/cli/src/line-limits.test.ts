import { instant } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { LineLimits } from './line-limits.ts';

let now = instant(0);
let limits: LineLimits;
beforeEach(() => {
  now = instant(0);
  limits = new LineLimits(() => now);
});

const said = (whats: readonly string[]): number =>
  whats.filter((what) => limits.take(what) !== undefined).length;
const many = (count: number, what: (index: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, index) => what(index));

test('an object has five lines at once, then one each minute, which says how many were left out', () => {
  expect(said(many(50, () => 'CertificateRequest evil/a'))).toBe(5);
  now = instant(60_000);
  expect(limits.take('CertificateRequest evil/a')).toBe(45);
  expect(limits.take('CertificateRequest evil/a')).toBeUndefined();
});

test('300 objects of one namespace that fail without end have 60 lines at once, then 30 a minute, and keep no line from another namespace', () => {
  expect(said(many(300, (index) => `CertificateRequest evil/${index}`))).toBe(60);
  expect(limits.take('Authority shop/mesh')).toBe(0);
  now = instant(60_000);
  expect(said(many(300, (index) => `CertificateRequest evil/${index}`))).toBe(30);
});
