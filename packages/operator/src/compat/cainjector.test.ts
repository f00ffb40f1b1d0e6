import { randomBytes } from 'node:crypto';
import { generateKey, issueCa, type Leaf, localSigner } from '@handover/core';
import { encodePem, instant } from '@handover/material';
import { expect, test } from 'vitest';
import { keyOf } from '../objects/place.ts';
import { type ObjectProjection, projectObject } from '../objects/projection.ts';
import type { InjectionRequest } from '../resources/injections.ts';
import { type CainjectorInputs, cainjectorInjection } from './cainjector.ts';

const CA = encodePem(
  'CERTIFICATE',
  await issueCa({
    name: 'theirs',
    generation: 1,
    signer: localSigner(generateKey('ECDSA-P256').privateKey),
    serial: randomBytes(16),
    notBefore: instant(0),
    notAfter: instant(4_000_000_000_000),
  }),
);

const secret = (
  name: string,
  annotations: Readonly<Record<string, string>>,
  ca: string | undefined = CA,
): ObjectProjection =>
  projectObject('secrets', {
    metadata: { namespace: 'ns', name, annotations },
    data: ca === undefined ? {} : { 'ca.crt': Buffer.from(ca).toString('base64') },
  });
const ALLOWED = { 'cert-manager.io/allow-direct-injection': 'true' };
const leaf = (name: string, secretName: string): Leaf =>
  ({ kind: 'Leaf', metadata: { namespace: 'ns', name }, spec: { authority: 'mesh', secretName } }) as Leaf;

interface Given {
  readonly secrets?: readonly ObjectProjection[];
  readonly leaves?: readonly Leaf[];
  readonly inputs?: Partial<CainjectorInputs>;
}

const wish = (
  annotations: Readonly<Record<string, string>>,
  given: Given = {},
): Promise<InjectionRequest | undefined> => {
  const inputs: CainjectorInputs = {
    secretOf: (certificate) => (certificate === 'ns/cert' ? 'cert-tls' : undefined),
    apiServerCa: () => CA,
    running: () => undefined,
    takeOver: false,
    ...given.inputs,
  };
  const asking = projectObject('apiservices', {
    metadata: { name: 'v1.example.com', annotations },
    spec: { service: { name: 'api' } },
  });
  return cainjectorInjection(inputs)(asking, {
    leaves: new Map(
      (given.leaves ?? []).map((one) => [`${one.metadata.namespace}/${one.metadata.name}`, one]),
    ),
    whyNot: () => undefined,
    held: async (place) => (given.secrets ?? []).find((held) => keyOf(held) === keyOf(place)),
  });
};

const FROM_SECRET = { 'cert-manager.io/inject-ca-from-secret': 'ns/plain' };
const FROM_CERTIFICATE = { 'cert-manager.io/inject-ca-from': 'ns/cert' };
const API_SERVER = { 'cert-manager.io/inject-apiserver-ca': 'true' };

test('an object without an annotation of cainjector gets no CA', async () => {
  expect(await wish({})).toBeUndefined();
  expect(await wish({ 'cert-manager.io/inject-apiserver-ca': 'false' })).toBeUndefined();
});

test('a Secret to inject from must be there, allow it, and hold a bundle', async () => {
  expect((await wish(FROM_SECRET))?.refused).toBe('Secret ns/plain: it does not exist (yet)');
  expect((await wish(FROM_SECRET, { secrets: [secret('plain', {})] }))?.refused).toContain(
    'allow-direct-injection',
  );
  expect((await wish(FROM_SECRET, { secrets: [secret('plain', ALLOWED, '')] }))?.refused).toContain(
    'no CA in ca.crt',
  );
  expect((await wish(FROM_SECRET, { secrets: [secret('plain', ALLOWED, 'x')] }))?.refused).toContain(
    'not a bundle',
  );
  expect((await wish(FROM_SECRET, { secrets: [secret('plain', ALLOWED)] }))?.source).toEqual({
    secret: { name: 'ns/plain', key: 'ca.crt' },
  });
});

test('a Secret to inject from is watched, even while it is missing or refused', async () => {
  for (const secrets of [[], [secret('plain', {})], [secret('plain', ALLOWED)]])
    expect((await wish(FROM_SECRET, { secrets }))?.follow).toMatchObject([
      { plural: 'secrets', name: 'plain' },
    ]);
});

test("the Secret of a Leaf stands for the Leaf's authority, and must allow it all the same", async () => {
  const leaves = [leaf('server', 'plain')];
  expect((await wish(FROM_SECRET, { leaves, secrets: [secret('plain', {})] }))?.source).toBeUndefined();
  expect((await wish(FROM_SECRET, { leaves, secrets: [secret('plain', ALLOWED)] }))?.source).toEqual({
    authority: 'ns/mesh',
  });
});

test('the Secret of a Certificate is the one that carries its name', async () => {
  expect((await wish(FROM_CERTIFICATE, { secrets: [secret('cert-tls', {})] }))?.source).toEqual({
    secret: { name: 'ns/cert-tls', key: 'ca.crt' },
  });
  expect((await wish({ 'cert-manager.io/inject-ca-from': 'ns/other' }))?.refused).toContain(
    'no Secret in ns',
  );
});

test('a Leaf with the name or the Secret of a Certificate counts instead of the Certificate', async () => {
  const authority = { authority: 'ns/mesh' };
  expect((await wish(FROM_CERTIFICATE, { leaves: [leaf('cert', 'any')] }))?.source).toEqual(authority);
  expect((await wish(FROM_CERTIFICATE, { leaves: [leaf('renamed', 'cert-tls')] }))?.source).toEqual(
    authority,
  );
});

test('a Secret comes before a Certificate, and a Certificate before the API server; an invalid annotation is not passed over', async () => {
  const all = { ...FROM_SECRET, ...FROM_CERTIFICATE, ...API_SERVER };
  const secrets = [secret('plain', ALLOWED), secret('cert-tls', {})];
  expect((await wish(all, { secrets }))?.source).toMatchObject({ secret: { name: 'ns/plain' } });
  expect((await wish({ ...FROM_CERTIFICATE, ...API_SERVER }, { secrets }))?.source).toMatchObject({
    secret: { name: 'ns/cert-tls' },
  });
  expect((await wish(API_SERVER))?.source).toEqual({ inline: CA });
  const wrong = await wish({ ...all, 'cert-manager.io/inject-ca-from-secret': 'plain' }, { secrets });
  expect(wrong).toEqual({
    refused: 'cert-manager.io/inject-ca-from-secret: "plain" is ignored; write namespace/name',
  });
});

test('inject-apiserver-ca is refused where the operator’s connection uses no CA of its own', async () => {
  expect((await wish(API_SERVER, { inputs: { apiServerCa: () => undefined } }))?.refused).toContain(
    'does not use a CA of its own',
  );
});

test('a running cainjector keeps the objects with its annotations, unless a person takes them over', async () => {
  const inputs = { running: () => 'cert-manager/cainjector' };
  expect((await wish(API_SERVER, { inputs }))?.refused).toContain(
    'Deployment cert-manager/cainjector is running',
  );
  expect((await wish(API_SERVER, { inputs: { ...inputs, takeOver: true } }))?.source).toBeDefined();
  const told = { ...API_SERVER, 'handover.dev/take-over': 'true' };
  expect((await wish(told, { inputs }))?.source).toBeDefined();
  expect(await wish({}, { inputs })).toBeUndefined();
});
