import { bytesOf, day, hour, instant } from '@handover/material';
import { expect, it } from 'vitest';
import { Certificates } from './certificates.ts';

const START = instant(Date.UTC(2030, 0, 1));
const BEGUN = instant(START - hour);
const END = instant(START + 365 * day);

const twoGenerations = () => {
  const certificates = new Certificates();
  const first = certificates.newCa(1, BEGUN, END);
  const second = certificates.newCa(2, BEGUN, END);
  const leafFor = (leafId: string): string =>
    certificates.leaf(leafId, second, BEGUN, instant(START + day)).certificate.fingerprint;
  return {
    certificates,
    first,
    second,
    one: first.certificate.fingerprint,
    two: second.certificate.fingerprint,
    leaf: leafFor('a'),
    leafFor,
    cross: certificates.cross(second.certificate, first, BEGUN, END).fingerprint,
  };
};

it('the issuer of a world lets the cross-certificate make a verifier with only the old CA accept a new leaf', () => {
  const { certificates, one, two, leaf, cross } = twoGenerations();
  for (const bundle of [[one], [two], [two, one], [one, two]]) {
    expect(certificates.verdict([leaf, cross], bundle, START)).toEqual({ ok: true });
  }
  expect(certificates.verdict([leaf], [one], START).ok).toBe(false);
});

it('the issuer of a world asks the chain check once per chain and bundle, however time goes on within their dates', () => {
  const { certificates, two, leaf } = twoGenerations();
  for (let minute = 0; minute < 100; minute++) {
    expect(certificates.verdict([leaf], [two], instant(START + minute * 60_000)).ok).toBe(true);
  }
  expect(certificates.checks).toBe(1);
});

it('the issuer of a world changes its mind at the very end of a leaf', () => {
  const { certificates, two, leaf } = twoGenerations();
  const end = certificates.of(leaf).notAfter;
  expect(certificates.judge([leaf], [two], instant(end - 1)).until).toBe(end);
  expect(certificates.verdict([leaf], [two], instant(end - 1)).ok).toBe(true);
  expect(certificates.verdict([leaf], [two], end).ok).toBe(false);
  expect(certificates.verdict([leaf], [two], instant(end - 1)).ok).toBe(true);
});

it('the issuer of a world shares one leaf among all presenters of one issue, and gives none the same one twice', () => {
  const { certificates, leaf, leafFor } = twoGenerations();
  expect(leafFor('b')).toBe(leaf);
  expect(leafFor('b')).not.toBe(leaf);
  expect(certificates.label(leaf)).toBe('leaf of 2');
});

it('the issuer of a world signs with no key but that of the certificate', () => {
  const { certificates, first, second } = twoGenerations();
  const mixed = { certificate: second.certificate, signer: first.signer };
  expect(() => certificates.leaf('a', mixed, BEGUN, END)).toThrow(TypeError);
  expect(() => certificates.cross(second.certificate, mixed, BEGUN, END)).toThrow(TypeError);
});

it('the issuer of a world reads the certificates of a file in their order, and refuses one that was never issued', () => {
  const { certificates, first, second, one, two, leaf } = twoGenerations();
  const file = second.certificate.pem + first.certificate.pem;
  expect(certificates.read(bytesOf(file))).toEqual([two, one]);
  expect(() => certificates.read(bytesOf('nonsense'))).toThrow(TypeError);
  const data = certificates.files(certificates.of(leaf), file);
  expect(certificates.issuerOfPair(leaf, data['tls.key'])).toBe(two);
  expect(() => certificates.issuerOfPair(leaf, bytesOf('another key'))).toThrow(TypeError);
});
