import { mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { Directories } from '../../../test/directories.ts';
import { digestOf, type FileData, filesFrom, passOnce } from '../../index.ts';

const directories = new Directories();

/** Every byte there is, and the beginnings of a Java keystore and of DER. */
const BINARY = Uint8Array.from([0xfe, 0xed, 0xfe, 0xed, 0x30, 0x82, ...Array(256).keys()]);

test('a binary value is read back byte for byte, and is as it was written', async () => {
  const path = directories.make();
  const home = directories.home(path);
  const lock = await home.lock();
  for (const id of ['default/secrets/store/keystore.p12', 'default/configmaps/trust/trust.jks']) {
    const name = id.split('/')[3] ?? '';
    const data: FileData = { [name]: BINARY };
    const record = { digest: digestOf(data), revisions: {}, anchors: [], changedAt: directories.now };
    await home.objects.write(id, undefined, () => ({ data, record }));
    expect(readFileSync(join(path, 'out', id))).toEqual(Buffer.from(BINARY));
    const stored = await home.objects.read(id);
    expect(new Uint8Array(stored?.data[name] ?? [])).toEqual(BINARY);
    expect(stored?.record?.digest).toBe(digestOf(stored?.data ?? {}));
    expect(stored?.obstacle).toBeUndefined();
  }
  await lock.release();
});

test('binary values that differ have different digests', () => {
  const digests = [0x80, 0x81, 0xff].map((byte) => digestOf({ x: Uint8Array.from([byte]) }));
  expect(new Set(digests).size).toBe(3);
});

test('texts have the digest that records of earlier releases hold', () => {
  expect(digestOf(filesFrom({ 'tls.crt': 'Straße – 証明書\n', 'tls.key': '', a: 'x' }))).toBe(
    'b9e4d4909ab7c5dd89c4c920e327e10a43624c1b1df0f5759abfff6fc600f2d7',
  );
});

test('nothing in a home of an earlier release is written again', async () => {
  const path = directories.make('');
  const { files } = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../test/fixtures/home-written-as-text.json'), 'utf8'),
  ) as { files: Record<string, { link?: string; mode?: string; text?: string }> };
  for (const [name, { link, mode = '600', text = '' }] of Object.entries(files)) {
    mkdirSync(join(path, dirname(name)), { recursive: true, mode: name.startsWith('state') ? 0o700 : 0o755 });
    if (link !== undefined) symlinkSync(link, join(path, name));
    else writeFileSync(join(path, name), text, { mode: Number.parseInt(mode, 8) });
  }
  const links = Object.entries(files).filter(([name]) => name.endsWith('/..data'));
  expect(links).toHaveLength(3);
  const home = directories.home(path);
  const lock = await home.lock();
  await passOnce(home, home.load(), () => {});
  await lock.release();
  for (const [name, { link }] of links) expect(readlinkSync(join(path, name))).toBe(link);
});
