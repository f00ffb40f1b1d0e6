import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Certificate, instant } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { beforeAll, describe, expect, it } from 'vitest';
import { envoyVersion } from '../field/src/envoy.ts';
import { type Case, GROUPS } from './src/cases.ts';
import { type Exhibit, JUDGES, type JudgeName, judgesOf, type Opinion } from './src/judges.ts';
import { expected, matrix, type Said, withoutVersions } from './src/matrix.ts';
import { buildJudges, requireTools, versionOf } from './src/programs.ts';
import { KEYS, makeWorld } from './src/world.ts';

const CASES = GROUPS.flatMap(({ cases }) => cases);
const NAMES = Object.keys(JUDGES) as readonly JudgeName[];
const document = fileURLToPath(new URL('../../docs/verdicts.md', import.meta.url));
const root = temporaryFolder();

const pems = (certificates: readonly Certificate[]): string => certificates.map(({ pem }) => pem).join('');

/** Every case with every kind of key, written to a folder for the judges. */
async function exhibit(): Promise<
  readonly { readonly one: Case; readonly keys: string; readonly exhibit: Exhibit }[]
> {
  const now = instant(Math.floor(Date.now() / 1000) * 1000);
  const exhibited = Object.entries(KEYS).map(async ([keys, algorithms], family) => {
    const { certificates, leafKeys } = await makeWorld(algorithms, now);
    return CASES.map((one, index) => {
      const folder = `${family}-${String(index).padStart(2, '0')}`;
      const chain = one.chain.map((token) => certificates[token]);
      const bundle = one.bundle.map((token) => certificates[token]);
      const leafKey = one.chain[0] === undefined ? undefined : leafKeys.get(one.chain[0]);
      if (leafKey === undefined) throw new Error(`case ${index} does not begin with a leaf`);
      mkdirSync(join(root, folder));
      writeFileSync(join(root, folder, 'chain.pem'), pems(chain));
      writeFileSync(join(root, folder, 'bundle.pem'), pems(bundle));
      return { one, keys, exhibit: { folder, chain, bundle, leafKey } };
    });
  });
  return (await Promise.all(exhibited)).flat();
}

const opinions = new Map<JudgeName, readonly Opinion[]>();
let exhibits: Awaited<ReturnType<typeof exhibit>> = [];

beforeAll(async () => {
  requireTools();
  const judges = judgesOf(buildJudges());
  exhibits = await exhibit();
  for (const name of NAMES)
    opinions.set(
      name,
      await judges[name](
        root,
        exhibits.map((each) => each.exhibit),
      ),
    );
});

const wordsOn = (judge: JudgeName, one: Case): readonly string[] =>
  exhibits.flatMap((each, index) => {
    const opinion = opinions.get(judge)?.[index];
    return each.one === one && opinion !== undefined ? [opinion.server, opinion.client] : [];
  });
const verdict = (judge: JudgeName, one: Case): Said => {
  const words = new Set(wordsOn(judge, one).map((word) => word === 'ok'));
  // A known difference may not always show: GnuTLS accepted one of three sets of keys in about one run of ten.
  if (words.size !== 1) return one.except?.[judge] === undefined ? 'mixed' : expected(judge, one);
  return words.has(true) ? 'accepts' : 'refuses';
};
const versions = (): string =>
  [
    `Node ${process.versions.node} (OpenSSL ${process.versions.openssl})`,
    `OpenSSL ${versionOf('openssl')}`,
    `BoringSSL of Envoy ${envoyVersion()}`,
    `Go ${versionOf('go')}`,
    `Java ${versionOf('java')}`,
    `GnuTLS ${versionOf('certtool')}`,
    `rustls-webpki ${/rustls-webpki = .*"=([\d.]+)"/.exec(readFileSync(new URL('judges/rust/Cargo.toml', import.meta.url), 'utf8'))?.[1]}`,
  ].join(', ');

describe('chains of a rotation before other verifiers', () => {
  it.each(NAMES)('%s gives the expected verdict on every case', (judge) => {
    const wrong = CASES.filter((one) => verdict(judge, one) !== expected(judge, one)).map(
      (one) =>
        `${one.chain.join(' + ')} against [${one.bundle.join(', ')}]: ${verdict(judge, one)}, not as expected: ${wordsOn(judge, one).join(' | ')}`,
    );
    expect(wrong).toEqual([]);
  });

  it('docs/verdicts.md has the judges’ verdicts', () => {
    const text = matrix(verdict, versions());
    if (process.env.HANDOVER_UPDATE_VERDICTS === 'yes') writeFileSync(document, text);
    const written = existsSync(document) ? readFileSync(document, 'utf8') : '';
    expect(withoutVersions(written), 'stale; `npm run test:verdicts -- --update` writes it').toBe(
      withoutVersions(text),
    );
  });
});
