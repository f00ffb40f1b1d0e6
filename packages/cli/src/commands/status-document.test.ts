import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, test } from 'vitest';
import { handover, NOW } from '../../test/capture.ts';

const dir = temporaryFolder({ inMemory: true });
const at = new Date(NOW).toISOString();
const checked = (document: unknown, ...flags: readonly string[]) => {
  const path = join(dir, 'status.json');
  writeFileSync(path, typeof document === 'string' ? document : JSON.stringify(document));
  return handover(['status-document', 'check', path, ...flags]);
};

test('a status document shows for which questions it is evidence', async () => {
  const whole = { version: 1, at, sources: [{ anchors: ['aa', 'bb'], leaf: { issuerKeyId: 'cc' } }] };
  expect(await checked(whole)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/verifies: +yes, of 2 CA certificates\n.*yes, signed by the key cc\n/),
  });
  const { stdout, code } = await checked({ version: 1, at, sources: [{ leaf: {} }] });
  expect(code).toBe(1);
  const loud = await checked({ version: 1, at, sources: [{ leaf: { issuerKeyId: '\u001b]0;pwn\u0007' } }] });
  expect(loud.stdout).not.toContain('\u001b');
  expect(stdout).toMatch(/verifies: +no: it has no sources\[\]\.anchors\n/);
  expect(stdout).toMatch(/presents a leaf: no: it has no sources\[\]\.leaf\.fingerprint\n/);
  expect(JSON.parse((await checked(whole, '--json')).stdout)).toEqual({
    at,
    verifies: true,
    presents: true,
    anchors: 2,
    issuerKeyIds: ['cc'],
    fingerprints: [],
  });
});

test('a status document with the fingerprint of a leaf alone is evidence for a consumer that presents that leaf', async () => {
  const { code, stdout } = await checked({ version: 1, at, sources: [{ leaf: { fingerprint: 'DD:EE' } }] });
  expect(code).toBe(0);
  expect(stdout).toMatch(/presents a leaf: yes, if an object of its Authority holds ddee\n/);
});

test.each([
  ['nonsense', /is not JSON/],
  [{ version: 1, at, sources: [] }, /has an empty list in sources/],

  [[], /is not a JSON object/],
  [{ version: 1, at }, /has no field sources/],
  [{ version: 2, at, sources: [] }, /has a version other than 1/],
  [{ version: 1, at: 'noon', sources: [] }, /has no ISO 8601 time in at/],
  [{ version: 1, at, sources: [{ anchors: 'aa' }] }, /has no list of text in sources\[0\]\.anchors/],
  [
    { version: 1, at, sources: [{ leaf: { issuerKeyId: 7 } }] },
    /has no text in sources\[0\]\.leaf\.issuerKeyId/,
  ],
  [{ version: 1, at: new Date(NOW - 36_000).toISOString(), sources: [] }, /after 35 s it is no evidence/],
  [{ version: 1, at: new Date(NOW + 36_000).toISOString(), sources: [] }, /is dated ahead/],
])('a status document such as %j is no evidence, and the reason is one line', async (document, why) => {
  const { code, stderr, stdout } = await checked(document);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(why);
  expect(stderr.trim().split('\n')).toHaveLength(1);
});

test('a status document that is larger than Handover reads is no evidence', async () => {
  const document = JSON.stringify({ version: 1, at, sources: [{ anchors: ['aa'] }] });
  expect(await checked(document.padEnd(64 * 1024))).toMatchObject({ code: 0 });
  const { code, stderr, stdout } = await checked(document.padEnd(64 * 1024 + 1));
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/is over 64 KiB, and Handover reads no more/);
});
