import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { MockCa } from '../../packages/runtime/test/mock-ca.ts';
import { NODES, nodeOf, project } from './src/project.ts';
import { run } from './src/run.ts';

const UNDICI = {
  6: 'undici-6@npm:undici@6.29.1',
  7: 'undici-7@npm:undici@7.30.2',
  8: 'undici-8@npm:undici@8.12.4',
};
const cwd = project('fetch', [...Object.values(UNDICI), 'ky@2.1.0']);
const consumers = fileURLToPath(new URL('./consumers/', import.meta.url));
const certificates = mkdtempSync(join(cwd, 'files-'));
const ca = new MockCa('pack');
const { cert, key } = ca.leaf();
const other = new MockCa('other').pem;
const files = { 'ca.crt': ca.pem, 'other.crt': other, 'tls.crt': cert, 'tls.key': key };
for (const [name, text] of Object.entries(files)) writeFileSync(join(certificates, name), text);
for (const file of ['fetch.mjs', 'ky.mjs']) copyFileSync(join(consumers, file), join(cwd, file));
afterAll(() => rmSync(certificates, { recursive: true }));

const AS_FETCH = {
  node: expect.any(String),
  form: [true, true, true],
  request: 'PUT text/plain a request',
  loose: 'GET  ',
  url: 'GET  ',
  params: 'POST application/x-www-form-urlencoded a=b',
  blob: 'POST text/x a blob',
  bytes: 'POST  AB',
  stream: 'POST  onetwo',
  deleted: 'DELETE  onetwo',
  big: 3_000_000,
  classes: [true, true, true],
  moved: [true, true, 'kept'],
  refusesToMove: 'TypeError',
  zip: 'zipped',
  none: [204, true],
  cookies: [['a=1', 'b=2'], 'Fine'],
  head: 200,
  slashes: '//elsewhere.test/a',
  cut: expect.stringMatching(/^TypeError/),
  aborted: 'AbortError',
  abortedBefore: 'AbortError',
  refused: 'TypeError ECONNREFUSED',
  unknown: 'TypeError UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  twenty: 1,
};

describe.each(NODES)('trust.fetch on Node %s', (version) => {
  const outcomeOf = async (...args: readonly string[]) => {
    const ended = await run(cwd, nodeOf(version), ...args);
    expect(ended).toMatchObject({ code: 0 });
    return JSON.parse(ended.stdout) as unknown;
  };

  test('is the global fetch with our trust: bodies, requests, responses, redirects, errors', async () => {
    expect(await outcomeOf('fetch.mjs', certificates)).toEqual(AS_FETCH);
  });

  // undici 8 does not load on Node 20.
  test.each(Object.keys(UNDICI).filter((major) => major !== '8' || !version.startsWith('20')))(
    'is the same after the program has imported undici %s',
    async (major) => {
      expect(await outcomeOf('fetch.mjs', certificates, `undici-${major}`)).toEqual(AS_FETCH);
    },
  );

  // ky 2 needs Node 22.
  if (version.startsWith('20')) return;
  test('serves ky', async () => {
    expect(await outcomeOf('ky.mjs', certificates)).toEqual({ failed: 0, answered: 200 });
  });
});
