import { randomBytes } from 'node:crypto';
import { generateKey, issueCa, localSigner } from '@handover/core';
import { digestOf } from '@handover/engine';
import { encodePem, hour, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { hasField, SHAPES } from './parts.ts';

const ca = async (name: string): Promise<string> =>
  encodePem(
    'CERTIFICATE',
    await issueCa({
      name,
      generation: 1,
      signer: localSigner(generateKey('ECDSA-P256').privateKey),
      serial: randomBytes(16),
      notBefore: instant(Date.UTC(2030, 0)),
      notAfter: instant(Date.UTC(2031, 0) + hour),
    }),
  );
const [one, two, three] = [await ca('one'), await ca('two'), await ca('three')];
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const webhooks = (...bundles: readonly (string | undefined)[]) => ({
  metadata: {},
  webhooks: bundles.map((bundle, index) => ({
    name: `hook-${index}`,
    clientConfig: bundle === undefined ? {} : { caBundle: base64(bundle) },
  })),
});
const shape = SHAPES.validatingwebhookconfigurations;

test('webhooks that hold the same are one object that holds it', () => {
  const texts = shape.texts(webhooks(one + two, one + two));
  expect(shape.read(texts, '')).toEqual({ 'ca.crt': one + two });
});

test('webhooks that differ hold what all of them hold, and are not taken for what was written', () => {
  const texts = shape.texts(webhooks(one + two, two + three));
  const read = shape.read(texts, '');
  expect(read?.['ca.crt']).toBe(two);
  expect(digestOf(read ?? {})).not.toBe(digestOf({ 'ca.crt': two }));
  const other = shape.read(shape.texts(webhooks(two + three, one + two)), '');
  expect(digestOf(other ?? {})).not.toBe(digestOf(read ?? {}));
});

test('one webhook without a caBundle, or with junk: all of them hold nothing in common', () => {
  expect(shape.read(shape.texts(webhooks(one, undefined)), '')?.['ca.crt']).toBe('');
  expect(shape.read(shape.texts(webhooks(one, 'dummy-data')), '')?.['ca.crt']).toBe('');
});

test('named webhooks are looked at and written alone; one that does not exist is no part', () => {
  const texts = shape.texts(webhooks(one, two, three));
  expect(shape.read(texts, 'hook-1')).toEqual({ 'hook-1': two });
  expect(shape.read(texts, 'nobody')).toBeUndefined();
  expect(shape.spread(texts, 'hook-0,hook-2', { 'hook-0,hook-2': two })).toEqual({
    'hook-0': two,
    'hook-2': two,
  });
  expect(shape.read(shape.texts(webhooks()), '')).toBeUndefined();
});

test('what is written to webhooks is their names and bundles, and nothing beside', () => {
  expect(shape.body({ 'hook-0': one })).toEqual({
    webhooks: [{ name: 'hook-0', clientConfig: { caBundle: base64(one) } }],
  });
});

test('every kind of field reads back what is written to it', () => {
  for (const plural of ['apiservices', 'customresourcedefinitions', 'clustertrustbundles'] as const) {
    const body = SHAPES[plural].body({ 'ca.crt': one });
    expect(SHAPES[plural].texts({ metadata: {}, ...body })).toEqual({ 'ca.crt': one });
    expect(SHAPES[plural].texts({ metadata: {} })).toEqual({});
  }
});

test('a leaf’s Secret is its three files; a key beside them is not ours', () => {
  const texts = SHAPES.secrets.texts({
    metadata: {},
    data: { 'tls.crt': base64('c'), 'tls.key': base64('k'), 'ca.crt': base64('a'), extra: base64('x') },
  });
  expect(SHAPES.secrets.read(texts, '')).toEqual({ 'tls.crt': 'c', 'tls.key': 'k', 'ca.crt': 'a' });
  expect(SHAPES.secrets.read(texts, 'extra')).toEqual({ extra: 'x' });
});

test('only an APIService with a Service, and a CRD with a conversion webhook, has a field to fill', () => {
  expect(hasField('apiservices', { metadata: {}, spec: { service: { name: 'x' } } })).toBe(true);
  expect(hasField('apiservices', { metadata: {}, spec: { service: null } })).toBe(false);
  expect(hasField('apiservices', { metadata: {}, spec: {} })).toBe(false);
  expect(
    hasField('customresourcedefinitions', { metadata: {}, spec: { conversion: { strategy: 'None' } } }),
  ).toBe(false);
  expect(
    hasField('customresourcedefinitions', { metadata: {}, spec: { conversion: { strategy: 'Webhook' } } }),
  ).toBe(true);
});
