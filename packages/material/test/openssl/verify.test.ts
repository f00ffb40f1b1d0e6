import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@handover/test-api-server';
import { beforeAll, describe, expect, it } from 'vitest';
import { instant, verifyChain } from '../../src/index.ts';
import { NOW } from '../mock-ca.ts';
import { type Case, casesOf, Dice, describeCase, makeKeys, SEED } from './worlds.ts';

const CASES = Number(process.env.CASES ?? 3_200);
const dir = temporaryFolder();

beforeAll(() => {
  const { error, stdout } = spawnSync('openssl', ['version'], { encoding: 'utf8' });
  if (error !== undefined || !/^OpenSSL [3-9]/.test(stdout)) {
    throw new Error(
      'this tier needs the openssl command, version 3: install the package "openssl" and run it again',
    );
  }
});

/** What `openssl verify` says: '' for OK, else its first error line. Level 1 is what TLS uses in Node. */
const openssl = (slot: number, { chain, anchors, at, purpose }: Case): Promise<string> => {
  const file = (name: string, certificates: readonly { readonly pem: string }[]): string => {
    const path = join(dir, `${slot}-${name}.pem`);
    writeFileSync(path, certificates.map(({ pem }) => pem).join(''));
    return path;
  };
  const [leaf, ...rest] = chain;
  const args = [
    'verify',
    '-auth_level',
    '1',
    '-attime',
    String(Math.floor(at / 1000)),
    '-purpose',
    `ssl${purpose}`,
  ];
  args.push('-CAfile', file('ca', anchors));
  if (rest.length > 0) args.push('-untrusted', file('untrusted', rest));
  args.push(file('leaf', leaf === undefined ? [] : [leaf]));
  return new Promise((done) => {
    execFile('openssl', args, (error, _stdout, stderr) => {
      done(error === null ? '' : (/error \d+ at \d+ depth lookup: .*/.exec(stderr)?.[0] ?? stderr.trim()));
    });
  });
};

/** X509_V_ERR_ numbers, for those that come up. */
const CODES: Readonly<Record<number, string>> = {
  2: 'UNABLE_TO_GET_ISSUER_CERT',
  7: 'CERT_SIGNATURE_FAILURE',
  9: 'CERT_NOT_YET_VALID',
  10: 'CERT_HAS_EXPIRED',
  18: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  19: 'SELF_SIGNED_CERT_IN_CHAIN',
  20: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  22: 'CERT_CHAIN_TOO_LONG',
  25: 'PATH_LENGTH_EXCEEDED',
  26: 'INVALID_PURPOSE',
  32: 'KEYUSAGE_NO_CERTSIGN',
  34: 'UNHANDLED_CRITICAL_EXTENSION',
  47: 'PERMITTED_VIOLATION',
  48: 'EXCLUDED_VIOLATION',
  51: 'UNSUPPORTED_CONSTRAINT_TYPE',
  53: 'UNSUPPORTED_NAME_SYNTAX',
  66: 'EE_KEY_TOO_SMALL',
  67: 'CA_KEY_TOO_SMALL',
  68: 'CA_MD_TOO_WEAK',
  79: 'INVALID_CA',
};

describe('openssl verify', () => {
  it(`agrees on ${CASES} generated cases`, { timeout: 600_000 }, async () => {
    process.stdout.write(`seed ${SEED}: run again with SEED=${SEED}\n`);
    const dice = new Dice(SEED);
    const keys = makeKeys();
    const cases: Case[] = [];
    while (cases.length < CASES) cases.push(...casesOf(dice, keys, NOW, 6));
    const tally = new Map<string, number>();
    const disagreements: string[] = [];
    const otherCodes = new Map<string, number>();
    let next = 0;
    const worker = async (slot: number): Promise<void> => {
      for (;;) {
        const index = next++;
        const one = cases[index];
        if (one === undefined) return;
        const ours = verifyChain({ ...one, at: instant(one.at) });
        const theirs = await openssl(slot, one);
        const verdict = ours.ok ? 'ok' : ours.code;
        tally.set(verdict, (tally.get(verdict) ?? 0) + 1);
        const number = /^error (\d+)/.exec(theirs)?.[1];
        const code = theirs === '' ? 'ok' : (CODES[Number(number)] ?? theirs);
        if (code !== verdict) {
          otherCodes.set(`${verdict}/${code}`, (otherCodes.get(`${verdict}/${code}`) ?? 0) + 1);
        }
        if (ours.ok !== (theirs === '')) {
          disagreements.push(
            `case ${index}: we say ${JSON.stringify(ours.ok || ours)}, openssl '${theirs}'\n${describeCase(one)}`,
          );
        }
      }
    };
    await Promise.all([worker(0), worker(1)]);
    process.stdout.write(`${cases.length} cases: ${JSON.stringify(Object.fromEntries([...tally].sort()))}\n`);
    process.stdout.write(`other code, same verdict: ${JSON.stringify(Object.fromEntries(otherCodes))}\n`);
    expect(disagreements.length, disagreements.slice(0, 3).join('\n\n')).toBe(0);
    // A tier that only ever sees refusals would agree with anything.
    expect(tally.get('ok') ?? 0).toBeGreaterThan(CASES / 5);
    expect(tally.size).toBeGreaterThan(8);
  });
});
