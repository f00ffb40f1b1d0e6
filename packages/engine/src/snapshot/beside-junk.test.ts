import { bytesOf, encodePem, parseCertificates } from '@handover/material';
import { beforeAll, expect, test } from 'vitest';
import { catalogue, MESH, on, World } from '../../test/world.ts';
import { certgen } from '../certgen/certgen.ts';
import { certificatesBesideJunk } from './beside-junk.ts';

let ca: { readonly pem: string; readonly der: Uint8Array };
beforeAll(async () => {
  const world = new World();
  await certgen(on(world.home, catalogue(MESH)), 'default/mesh', { overwrite: false });
  const { data } = await world.object('default/secrets/a');
  const [found] = parseCertificates(data['ca.crt'] ?? '').certificates;
  if (found === undefined) throw new Error('no CA');
  ca = found;
});
const found = (text: string): number => certificatesBesideJunk(bytesOf(text)).length;

test('a block that is no certificate is left out of a bundle', () => {
  expect(found(ca.pem)).toBe(1);
  expect(found(`${ca.pem}${encodePem('CERTIFICATE', Buffer.from('junk'))}`)).toBe(1);
  expect(found(encodePem('CERTIFICATE', Buffer.from('junk')))).toBe(0);
  expect(found('-----BEGIN CERTIFICATE-----\nnot base64')).toBe(0);
});

test('a certificate that OpenSSL can read and we cannot makes the bundle unreadable: it may be in use', () => {
  // Another signature algorithm outside than inside: OpenSSL looks at that only when it verifies.
  const odd = Buffer.from(ca.der);
  const outer = odd.lastIndexOf(Buffer.from('2a8648ce3d040302', 'hex'));
  odd[outer + 7] = 3;
  expect(found(`${ca.pem}${encodePem('CERTIFICATE', odd)}`)).toBe(0);
});
