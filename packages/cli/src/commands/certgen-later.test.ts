// Runs of certgen long after the first one, as a CronJob makes them: without --overwrite and without --wait.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Certificate,
  day,
  hour,
  instant,
  minute,
  parseCertificates,
  second,
  verifyChain,
} from '@handover/material';
import { TestClock, temporaryFolder } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { handover, NOW, type Ran, turning } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';

let dir: string;
let passed = 0;
beforeEach(() => {
  dir = newHome();
  passed = 0;
});
const NAMESPACE = 'envoy-gateway-system';
const NAMES = ['envoy', 'envoy-gateway', 'envoy-rate-limit'];
const year = 365 * day;
const at = () => instant(NOW + passed);
const run = (...args: readonly string[]): Promise<Ran> =>
  handover(['certgen', ...args, '--home', `dir:${dir}`], { now: at() });
const certgen = (...more: readonly string[]): Promise<Ran> => run('--preset', 'envoy-gateway', ...more);
const secret = (name: string, from = dir): string => join(from, 'out', NAMESPACE, 'secrets', name);
const certificates = (name: string, file: string): readonly Certificate[] =>
  parseCertificates(readFileSync(join(secret(name), file))).certificates;
const generations = (name: string): readonly (string | undefined)[] =>
  certificates(name, 'ca.crt').map(({ subject }) => subject.split(' ')[1]);
/** Whether every part accepts every other at this moment. */
const allAccept = (): boolean =>
  NAMES.every((presenter) =>
    NAMES.every(
      (verifier) =>
        verifyChain({
          chain: certificates(presenter, 'tls.crt'),
          anchors: certificates(verifier, 'ca.crt'),
          at: at(),
          purpose: 'client',
        }).ok,
    ),
  );

const authority = (name: string): string =>
  `apiVersion: handover.dev/v1alpha1\nkind: Authority\nmetadata: {name: ${name}, namespace: ${NAMESPACE}}\n`;
const leaf = (name: string, lifetime: string, by: string): string =>
  `---\napiVersion: handover.dev/v1alpha1\nkind: Leaf\nmetadata: {name: ${name}, namespace: ${NAMESPACE}}\n` +
  `spec: {authority: ${by}, dnsNames: [${name}], usages: [server, client], lifetime: ${lifetime}}\n`;

test.each([366, 400])(
  'a plain run on day %i leaves certificates that are valid for five years, as upstream',
  async (days) => {
    await certgen();
    const [leaf] = certificates('envoy', 'tls.crt');
    expect(leaf?.notAfter).toBe(NOW + 5 * year);
    passed = days * day;
    expect(await certgen()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^0 objects written\n.*: Stable\n$/),
    });
    expect(allAccept()).toBe(true);
  },
);

test('a plain run every quarter for twelve years never leaves a certificate that another part refuses, and never two old CAs', async () => {
  await certgen();
  for (; passed < 12 * year; passed += 91 * day) {
    expect(await certgen()).toMatchObject({ code: 0 });
    expect(allAccept(), `day ${passed / day}`).toBe(true);
    expect(generations('envoy').length).toBeLessThanOrEqual(2);
  }
  expect(Number(generations('envoy')[0])).toBeGreaterThan(2);
});

test('a plain run replaces all certificates after they have expired', async () => {
  await certgen();
  passed = 6 * year;
  expect(await certgen()).toMatchObject({ code: 0 });
  expect(allAccept()).toBe(true);
});

test('a plain run renews a leaf that is due, and no other', async () => {
  const file = join(temporaryFolder(), 'two.yaml');
  writeFileSync(file, `${authority('own')}${leaf('short', '90d', 'own')}${leaf('long', '1y', 'own')}`);
  await run('-f', file);
  const before = ['short', 'long'].map((name) => certificates(name, 'tls.crt')[0]?.fingerprint);
  passed = 70 * day;
  expect(await run('-f', file)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^1 object written\n/),
  });
  const after = ['short', 'long'].map((name) => certificates(name, 'tls.crt')[0]?.fingerprint);
  expect(after[0]).not.toBe(before[0]);
  expect(after[1]).toBe(before[1]);
});

test('S3.8 a plain run ends a rotation that a run without --wait began: the old CA is gone, and nothing is rotated again', async () => {
  await certgen();
  const old = certificates('envoy', 'tls.crt');
  await certgen('--rotation-id', '2030-06');
  expect(generations('envoy')).toEqual(['2', '1']);
  passed = minute;
  expect((await certgen()).stdout).toContain('Activating');
  passed = 10 * minute;
  expect(await certgen()).toMatchObject({ code: 0, stdout: expect.stringContaining(': Stable') });
  for (const name of NAMES) expect(generations(name)).toEqual(['2']);
  expect(
    verifyChain({ chain: old, anchors: certificates('envoy', 'ca.crt'), at: at(), purpose: 'client' }).ok,
  ).toBe(false);
  passed = 20 * minute;
  expect((await certgen()).stdout).toMatch(/^0 objects written\n/);
});

test('S3.2 a plain run leaves an expired CA out of bundles once it has expired by clocks that are an hour behind, and not before', async () => {
  const file = join(temporaryFolder(), 'brief.yaml');
  const spec = 'spec: {lifetime: 10d, rotation: {strategy: Instant, reloadWithin: 3h}}\n';
  writeFileSync(file, `${authority('own')}${spec}${leaf('envoy', '10d', 'own')}`);
  await run('-f', file);
  const old = certificates('envoy', 'tls.crt');
  const accepted = (behind: number): boolean =>
    verifyChain({
      chain: old,
      anchors: certificates('envoy', 'ca.crt'),
      at: instant(at() - behind),
      purpose: 'client',
    }).ok;
  passed = 10 * day + second;
  await run('-f', file, '--rotation-id', 'late');
  expect(generations('envoy')).toEqual(['2', '1']);
  expect(accepted(0)).toBe(false);
  expect(accepted(59 * minute)).toBe(true);
  passed = 10 * day + hour + second;
  await run('-f', file);
  expect(generations('envoy')).toEqual(['2']);
});

test.each([['--rotation-id=takeover'], ['--overwrite']])(
  'a plain run goes on with a takeover that a run with %s and without --wait began',
  async (flag) => {
    await adoptable(0);
    await certgen(flag);
    for (let looks = 0; looks < 3; looks++) {
      passed += 5 * minute;
      expect(await certgen()).toMatchObject({ code: 0 });
    }
    expect((await certgen()).stdout).toContain(': Stable');
    expect(certificates('envoy', 'ca.crt')).toHaveLength(1);
    expect(allAccept()).toBe(true);
  },
);

/** A command that waits looks once a minute: the preset waits for many. */
class SeldomLooked extends TestClock {
  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return super.sleep(Math.max(ms, 60_000), signal);
  }
}

test.each([['--rotation-id=takeover'], ['--overwrite']])(
  'S3.11 one run with %s and --wait takes over Secrets of another program to the end',
  async (flag) => {
    await adoptable(0);
    const args = ['--preset', 'envoy-gateway', flag, '--wait', '--timeout', '4h', '--home', `dir:${dir}`];
    const clock = new SeldomLooked(NOW);
    expect(await turning(clock, handover(['certgen', ...args], { clock }))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(': Stable'),
    });
    for (const name of NAMES) expect(generations(name)).toEqual(['1']);
    expect(allAccept()).toBe(true);
  },
);

/** Secrets of another program, made so long ago: they hold no CA key. */
const adoptable = async (age: number, lifetime = '5y'): Promise<void> => {
  const donor = temporaryFolder({ inMemory: true });
  const file = join(donor, 'resources.yaml');
  const leaves = NAMES.map((name) => leaf(name, lifetime, 'other'));
  writeFileSync(file, `${authority('other')}${leaves.join('')}`);
  await handover(['certgen', '-f', file, '--home', `dir:${donor}`], { now: instant(at() - age) });
  for (const name of NAMES) {
    mkdirSync(secret(name), { recursive: true });
    for (const kept of ['tls.crt', 'tls.key', 'ca.crt'])
      writeFileSync(join(secret(name), kept), readFileSync(join(secret(name, donor), kept)), { mode: 0o600 });
  }
};

test('S3.2 a junk block and a repeated CA in an old bundle are left out when it is taken over', async () => {
  await adoptable(0);
  const [ca] = certificates('envoy-gateway', 'ca.crt');
  const junk = '-----BEGIN CERTIFICATE-----\nanVuaw==\n-----END CERTIFICATE-----\n';
  for (const name of NAMES)
    writeFileSync(join(secret(name), 'ca.crt'), `${ca?.pem}${junk}# note\n${ca?.pem}`);
  expect(await certgen('--rotation-id', 'takeover')).toMatchObject({ code: 0 });
  for (const name of NAMES) {
    const [first, second, ...more] = certificates(name, 'ca.crt');
    expect(first?.fingerprint).not.toBe(ca?.fingerprint);
    expect(second?.fingerprint).toBe(ca?.fingerprint);
    expect(more).toEqual([]);
    expect(readFileSync(join(secret(name), 'ca.crt'), 'utf8')).not.toContain('anVuaw==');
  }
});

/** CAs of another program, made so long ago. */
const foreignCas = async (...ages: readonly number[]): Promise<readonly Certificate[]> => {
  const donors: Certificate[] = [];
  for (const age of ages) {
    await adoptable(age);
    donors.push(...certificates('envoy', 'ca.crt'));
  }
  return donors;
};
const fingerprintsOf = (name: string): readonly string[] =>
  certificates(name, 'ca.crt').map(({ fingerprint }) => fingerprint);

test('S3.2 a CA that expired a second ago is left out of a bundle that is taken over', async () => {
  const [expired, valid] = await foreignCas(5 * year + second, 0);
  expect(expired?.notAfter).toBe(at() - second);
  for (const name of NAMES) writeFileSync(join(secret(name), 'ca.crt'), `${valid?.pem}${expired?.pem}`);
  expect(await certgen('--rotation-id', 'takeover')).toMatchObject({ code: 0 });
  for (const name of NAMES) {
    const [own, ...old] = fingerprintsOf(name);
    expect(own).not.toBe(valid?.fingerprint);
    expect(old).toEqual([valid?.fingerprint]);
  }
});

test('S3.2 a bundle of two CAs that is taken over holds three while leaves of either may be in use, and one in the end', async () => {
  const [older, newer] = await foreignCas(day, 0);
  for (const name of NAMES) writeFileSync(join(secret(name), 'ca.crt'), `${newer?.pem}${older?.pem}`);
  expect(await certgen('--rotation-id', 'takeover')).toMatchObject({ code: 0 });
  const phases = new Set<string>();
  for (; !phases.has('Stable'); passed += minute) {
    const { stdout } = await certgen('--rotation-id', 'takeover');
    phases.add(/: (\w+)/.exec(stdout)?.[1] ?? '');
    for (const name of NAMES) {
      const held = fingerprintsOf(name);
      // Of a mesh that another program was rotating, some peers still show leaves of the older CA.
      if (!phases.has('Stable')) expect(held.slice(1)).toEqual([newer?.fingerprint, older?.fingerprint]);
      else expect(held).toHaveLength(1);
    }
    expect(allAccept()).toBe(true);
    expect(passed).toBeLessThan(hour);
  }
  expect([...phases]).toEqual(['Introducing', 'Activating', 'Stable']);
  // From then on as ever: new then old.
  await certgen('--rotation-id', 'next');
  expect(generations('envoy')).toEqual(['2', '1']);
});

test.each([
  ['an expired certificate', 6 * year, / expired at /],
  ['a certificate that is not valid yet', -10 * day, / is not valid before /],
])('certgen does not exit 0 over %s of another program, which it leaves alone', async (_, age, says) => {
  await adoptable(age);
  const before = readFileSync(join(secret('envoy'), 'tls.crt'));
  const { code, stderr, stdout } = await certgen();
  expect(code).toBe(1);
  expect(stderr).toMatch(/^CERTGEN_NOT_VALID: .*secrets\/envoy-gateway .*--overwrite.*\n$/);
  expect(stderr).toMatch(says);
  expect(stdout).toMatch(/^1 object written\n/);
  expect(readFileSync(join(secret('envoy'), 'tls.crt'))).toEqual(before);
});

test.each([
  ['without a ca.crt', () => rmSync(join(secret('envoy'), 'ca.crt')), / holds no readable CA;/],
  [
    'with a ca.crt that is no certificate',
    () => writeFileSync(join(secret('envoy'), 'ca.crt'), 'garbage\n'),
    / holds no readable CA;/,
  ],
  [
    'with a valid leaf beside a ca.crt that has expired',
    async () => {
      const valid = NAMES.map((name) => readFileSync(join(secret(name), 'tls.crt')));
      await adoptable(6 * year);
      for (const [index, name] of NAMES.entries())
        writeFileSync(join(secret(name), 'tls.crt'), valid[index] ?? '');
    },
    / holds a CA that expired at .*, and 2 other Secrets too;/,
  ],
])(
  'certgen does not exit 0 over a Secret of another program %s, which it leaves alone',
  async (_, spoil, says) => {
    await adoptable(0);
    await spoil();
    const { code, stderr } = await certgen();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^CERTGEN_NOT_VALID: .*--overwrite.*\n$/);
    expect(stderr).toMatch(says);
  },
);

test('certgen does not exit 0 over an expired certificate that a takeover has yet to replace', async () => {
  await adoptable(100 * day, '90d');
  const { code, stdout, stderr } = await certgen('--rotation-id', 'takeover', '--json');
  expect(code).toBe(1);
  expect(JSON.parse(stderr).error).toEqual({
    code: 'CERTGEN_NOT_VALID',
    message: expect.stringMatching(/ expired at .*, and 2 other Secrets too; .*run again/),
  });
  expect(JSON.parse(stdout).authorities).toMatchObject([{ phase: 'Introducing' }]);
  expect(JSON.parse(stdout).authorities[0].notValid).toHaveLength(3);
  passed = 5 * minute;
  expect(await certgen()).toMatchObject({ code: 0, stderr: '' });
  expect(allAccept()).toBe(true);
});
