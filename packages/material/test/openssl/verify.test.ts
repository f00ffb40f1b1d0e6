import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { instant, verifyChain } from '../../src/index.ts';
import { NOW } from '../mock-ca.ts';
import { type Case, casesOf, Dice, describeCase, makeKeys, SEED } from './worlds.ts';

const CASES = Number(process.env.CASES ?? 3_600);
const dir = mkdtempSync(join(tmpdir(), 'handover-openssl-'));

beforeAll(() => {
  const { error, stdout } = spawnSync('openssl', ['version'], { encoding: 'utf8' });
  if (error !== undefined || !/^OpenSSL [3-9]/.test(stdout)) {
    throw new Error(
      'this tier needs the openssl command, version 3: install the package "openssl" and run it again',
    );
  }
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

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

describe('openssl verify', () => {
  it(`agrees on ${CASES} generated cases`, { timeout: 600_000 }, async () => {
    process.stdout.write(`seed ${SEED}: run again with SEED=${SEED}\n`);
    const dice = new Dice(SEED);
    const keys = makeKeys();
    const cases: Case[] = [];
    while (cases.length < CASES) cases.push(...casesOf(dice, keys, NOW, 6));
    const tally = new Map<string, number>();
    const disagreements: string[] = [];
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
        if (ours.ok !== (theirs === '')) {
          disagreements.push(
            `case ${index}: we say ${JSON.stringify(ours.ok || ours)}, openssl '${theirs}'\n${describeCase(one)}`,
          );
        }
      }
    };
    await Promise.all([worker(0), worker(1)]);
    process.stdout.write(`${cases.length} cases: ${JSON.stringify(Object.fromEntries([...tally].sort()))}\n`);
    expect(disagreements.length, disagreements.slice(0, 3).join('\n\n')).toBe(0);
    // A tier that only ever sees refusals would agree with anything.
    expect(tally.get('ok') ?? 0).toBeGreaterThan(CASES / 5);
    expect(tally.size).toBeGreaterThan(8);
  });
});
