import { randomBytes } from 'node:crypto';
import { generateKey, issueCa, localSigner } from '@handover/core';
import { digestOf, filesFrom } from '@handover/engine';
import { bytesOf, encodePem, hour, instant } from '@handover/material';
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

test('webhooks with the same caBundle are one object that holds it', () => {
  const data = shape.data(webhooks(one + two, one + two));
  expect(shape.read(data, '')).toEqual(filesFrom({ 'ca.crt': one + two }));
});

test('webhooks with different caBundles hold what they have in common, and never count as written by Handover', () => {
  const data = shape.data(webhooks(one + two, two + three));
  const read = shape.read(data, '');
  expect(read?.['ca.crt']).toEqual(bytesOf(two));
  expect(digestOf(read ?? {})).not.toBe(digestOf(filesFrom({ 'ca.crt': two })));
  const other = shape.read(shape.data(webhooks(two + three, one + two)), '');
  expect(digestOf(other ?? {})).not.toBe(digestOf(read ?? {}));
});

test('webhooks have nothing in common if one has no caBundle, or junk', () => {
  expect(shape.read(shape.data(webhooks(one, undefined)), '')?.['ca.crt']).toHaveLength(0);
  expect(shape.read(shape.data(webhooks(one, 'dummy-data')), '')?.['ca.crt']).toHaveLength(0);
});

test('named webhooks are read and written alone, and a name that does not exist is no part', () => {
  const data = shape.data(webhooks(one, two, three));
  expect(shape.read(data, 'hook-1')).toEqual(filesFrom({ 'hook-1': two }));
  expect(shape.read(data, 'nobody')).toBeUndefined();
  expect(shape.spread(data, 'hook-0,hook-2', filesFrom({ 'hook-0,hook-2': two }))).toEqual(
    filesFrom({ 'hook-0': two, 'hook-2': two }),
  );
  expect(shape.read(shape.data(webhooks()), '')).toBeUndefined();
});

test('a write to webhooks holds their names and caBundles, and nothing else', () => {
  expect(shape.body(filesFrom({ 'hook-0': one }))).toEqual({
    webhooks: [{ name: 'hook-0', clientConfig: { caBundle: base64(one) } }],
  });
});

test('every kind of field reads back what is written to it', () => {
  for (const plural of ['apiservices', 'customresourcedefinitions', 'clustertrustbundles'] as const) {
    const body = SHAPES[plural].body(filesFrom({ 'ca.crt': one }));
    expect(SHAPES[plural].data({ metadata: {}, ...body })).toEqual(filesFrom({ 'ca.crt': one }));
    expect(SHAPES[plural].data({ metadata: {} })).toEqual({});
  }
});

test('a ClusterTrustBundle is text: binary data is refused with a code', () => {
  expect(() => SHAPES.clustertrustbundles.body({ 'ca.crt': Uint8Array.of(0xfe, 0xed) })).toThrow(
    expect.objectContaining({ code: 'PEM_BINARY' }),
  );
});

test('the Secret of a Leaf is its three files, and another key in it is not Handover’s', () => {
  const data = SHAPES.secrets.data({
    metadata: {},
    data: { 'tls.crt': base64('c'), 'tls.key': base64('k'), 'ca.crt': base64('a'), extra: base64('x') },
  });
  expect(SHAPES.secrets.read(data, '')).toEqual(filesFrom({ 'tls.crt': 'c', 'tls.key': 'k', 'ca.crt': 'a' }));
  expect(SHAPES.secrets.read(data, 'extra')).toEqual(filesFrom({ extra: 'x' }));
});

test('only an APIService with a Service, and a CRD with a conversion webhook, has a caBundle to fill', () => {
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
