import { digestOf, type FileData, filesFrom } from '@handover/engine';
import { configMaps, connect, type Kube, namespaces, secrets } from '@handover/kube';
import { FakeApiServer } from '@handover/kube/testing';
import { instant } from '@handover/material';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OneByOne } from './fresh.ts';
import { kindsWith } from './kinds.ts';
import { ObjectStore } from './object-store.ts';
import { OwnWritesCache } from './own-writes-cache.ts';
import { SHAPES } from './parts.ts';

const BINARY = Uint8Array.from([0xfe, 0xed, 0xfe, 0xed, 0x30, 0x82, ...Array(256).keys()]);
const BASE64 = Buffer.from(BINARY).toString('base64');
const end = new AbortController();
let server: FakeApiServer;
let kube: Kube;
beforeAll(async () => {
  server = await FakeApiServer.start();
  kube = connect(server.config, { signal: end.signal, rate: false });
  await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'prod' } });
});
afterAll(async () => {
  end.abort();
  await server.stop();
});

const stored = () => {
  const { signal } = end;
  const kinds = kindsWith('v1');
  const source = new OneByOne({ kube, kinds, signal }, () => []);
  const store = new ObjectStore({
    kube,
    swift: kube,
    kinds,
    namespace: 'own',
    cache: new OwnWritesCache(source, source),
    now: () => instant(1_000),
    signal,
    mayAdopt: () => false,
    signerOf: () => undefined,
  });
  const objects = store.view(source);
  /** Writes these files, and answers with what is read back. */
  return async (id: string, data: FileData) => {
    const record = { digest: digestOf(data), revisions: {}, anchors: [], changedAt: instant(1_000) };
    await objects.write(id, (await objects.read(id))?.version, () => ({ data, record }));
    const found = await objects.read(id);
    expect(found?.record?.digest).toBe(digestOf(found?.data ?? {}));
    return found?.data;
  };
};

test('a binary value of a Secret is read back byte for byte, in memory of its own size', async () => {
  const read = await stored()('prod/secrets/store/keystore.p12', { 'keystore.p12': BINARY });
  expect(read).toEqual({ 'keystore.p12': BINARY });
  expect(read?.['keystore.p12']?.buffer.byteLength).toBe(BINARY.length);
  const found = await kube.get(secrets, { namespace: 'prod', name: 'store' });
  expect(found?.data).toEqual({ 'keystore.p12': BASE64 });
});

test('a ConfigMap holds text in data and other bytes in binaryData, and a value moves between the two', async () => {
  const write = stored();
  const id = 'prod/configmaps/trust/trust.jks';
  const fields = async () => {
    const { data = {}, binaryData = {} } =
      (await kube.get(configMaps, { namespace: 'prod', name: 'trust' })) ?? {};
    return { data, binaryData };
  };
  expect(await write(id, { 'trust.jks': BINARY })).toEqual({ 'trust.jks': BINARY });
  expect(await fields()).toEqual({ data: {}, binaryData: { 'trust.jks': BASE64 } });
  await write('prod/configmaps/trust/ca.crt', filesFrom({ 'ca.crt': 'é' }));
  expect(await fields()).toEqual({ data: { 'ca.crt': 'é' }, binaryData: { 'trust.jks': BASE64 } });
  expect(await write(id, filesFrom({ 'trust.jks': 'text' }))).toEqual(filesFrom({ 'trust.jks': 'text' }));
  expect(await fields()).toEqual({ data: { 'ca.crt': 'é', 'trust.jks': 'text' }, binaryData: {} });
});

test('a ClusterTrustBundle is text: other bytes are refused by a code', () => {
  expect(() => SHAPES.clustertrustbundles.body({ 'ca.crt': BINARY })).toThrow(
    expect.objectContaining({ code: 'PEM_BINARY' }),
  );
});

test('of an object that is to hold ours alone, binaryData of others stays', async () => {
  const created = await kube.create(configMaps, {
    metadata: { namespace: 'prod', name: 'whole' },
    data: { other: 'x' },
    binaryData: { logo: BASE64 },
  });
  const source = new OneByOne({ kube, kinds: kindsWith('v1'), signal: end.signal }, () => []);
  const store = new ObjectStore({
    kube,
    swift: kube,
    kinds: kindsWith('v1'),
    namespace: 'own',
    cache: new OwnWritesCache(source, source),
    now: () => instant(1_000),
    signal: end.signal,
    mayAdopt: () => false,
    signerOf: () => undefined,
    isWhole: () => true,
  });
  const data = filesFrom({ 'ca.crt': 'ours' });
  const record = { digest: digestOf(data), revisions: {}, anchors: [], changedAt: instant(1_000) };
  const id = 'prod/configmaps/whole/ca.crt';
  await store.write(id, created.metadata.resourceVersion, () => ({ data, record }));
  const found = await kube.get(configMaps, { namespace: 'prod', name: 'whole' });
  expect(found).toMatchObject({ data: { 'ca.crt': 'ours' }, binaryData: { logo: BASE64 } });
  expect(found?.data).not.toHaveProperty('other');
  expect((await store.view(source).read(id))?.record?.digest).toBe(record.digest);
});
