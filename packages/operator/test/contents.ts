import { digestOf, type FileData, filesFrom } from '@handover/engine';
import { configMaps, type Kube, secrets } from '@handover/kube';
import { instant } from '@handover/material';
import { expect, test } from 'vitest';
import { GetByName } from '../src/objects/fresh.ts';
import { kindsWith } from '../src/objects/kinds.ts';
import { ObjectStore } from '../src/objects/object-store.ts';
import { OwnWritesCache } from '../src/objects/own-writes-cache.ts';

const AT = instant(1_000);
/** Every byte there is, behind the beginnings of a Java keystore and of DER. */
const BINARY = Uint8Array.from([0xfe, 0xed, 0xfe, 0xed, 0x30, 0x82, ...Array(256).keys()]);
const BASE64 = Buffer.from(BINARY).toString('base64');

const { signal } = new AbortController();
const kinds = kindsWith({ version: 'v1' });

const storeOn = (kube: Kube, isWhole: boolean) => {
  const source = new GetByName({ kube, kinds, signal }, () => []);
  const store = new ObjectStore({
    kube,
    caBundleClient: kube,
    kinds,
    namespace: 'own',
    cache: new OwnWritesCache(source, source, kube.clock),
    now: () => AT,
    signal,
    mayAdopt: () => false,
    signerOf: () => undefined,
    isWhole: () => isWhole,
  });
  const objects = store.view(source);
  /** Writes these files, and answers with what is read back. */
  return async (id: string, data: FileData): Promise<FileData | undefined> => {
    const record = { digest: digestOf(data), revisions: {}, anchors: [], changedAt: AT };
    await objects.write(id, (await objects.read(id))?.version, () => ({ data, record }));
    const found = await objects.read(id);
    expect(found?.record?.digest).toBe(digestOf(found?.data ?? {}));
    return found?.data;
  };
};

/** What every API server does with contents that are not text, in its namespace `default`. */
export const contentsAreBytes = (kube: () => Kube): void => {
  test('a binary value of a Secret is read back byte for byte, in memory of its own size', async () => {
    const read = await storeOn(kube(), false)('default/secrets/store/keystore.p12', {
      'keystore.p12': BINARY,
    });
    expect(read).toEqual({ 'keystore.p12': BINARY });
    expect(read?.['keystore.p12']?.buffer.byteLength).toBe(BINARY.length);
    const found = await kube().get(secrets, { namespace: 'default', name: 'store' });
    expect(found?.data).toEqual({ 'keystore.p12': BASE64 });
  });

  test('a ConfigMap holds text in data and other bytes in binaryData, and a value moves between the two', async () => {
    const write = storeOn(kube(), false);
    const id = 'default/configmaps/trust/trust.jks';
    const fields = async () => {
      const { data = {}, binaryData = {} } =
        (await kube().get(configMaps, { namespace: 'default', name: 'trust' })) ?? {};
      return { data, binaryData };
    };
    expect(await write(id, { 'trust.jks': BINARY })).toEqual({ 'trust.jks': BINARY });
    expect(await fields()).toEqual({ data: {}, binaryData: { 'trust.jks': BASE64 } });
    await write('default/configmaps/trust/ca.crt', filesFrom({ 'ca.crt': 'é' }));
    expect(await fields()).toEqual({ data: { 'ca.crt': 'é' }, binaryData: { 'trust.jks': BASE64 } });
    expect(await write(id, filesFrom({ 'trust.jks': 'text' }))).toEqual(filesFrom({ 'trust.jks': 'text' }));
    expect(await fields()).toEqual({ data: { 'ca.crt': 'é', 'trust.jks': 'text' }, binaryData: {} });
  });

  test('binaryData of other programs stays in an object whose data is Handover’s alone', async () => {
    await kube().create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'default', name: 'whole' },
      data: { other: 'x' },
      binaryData: { logo: BASE64 },
    });
    const ours = filesFrom({ 'ca.crt': 'ours' });
    expect(await storeOn(kube(), true)('default/configmaps/whole/ca.crt', ours)).toEqual(ours);
    const { data, binaryData } =
      (await kube().get(configMaps, { namespace: 'default', name: 'whole' })) ?? {};
    expect({ data, binaryData }).toEqual({ data: { 'ca.crt': 'ours' }, binaryData: { logo: BASE64 } });
  });
};
