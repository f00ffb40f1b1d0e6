// Certgen over a state that was lost, or restored from a backup that is too old: no run can go on, and --overwrite recovers.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Certificate, instant, minute, parseCertificates, verifyChain } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { beforeEach, expect, test } from 'vitest';
import { handover, NOW, type Ran } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';

let dir: string;
let passed = 0;
beforeEach(() => {
  dir = newHome();
  passed = 0;
});
const NAMESPACE = 'envoy-gateway-system';
const ID = `${NAMESPACE}/envoy-gateway-ca`;
const NAMES = ['envoy', 'envoy-gateway', 'envoy-rate-limit'];
const at = () => instant(NOW + passed);
const ask = (command: string, ...more: readonly string[]): Promise<Ran> =>
  handover([command, ...more, '--preset', 'envoy-gateway', '--home', `dir:${dir}`], { now: at() });
const certgen = (...more: readonly string[]): Promise<Ran> => ask('certgen', ...more);
const state = () => join(dir, 'state/authorities', `${ID}.json`);
const secret = (name: string) => join(dir, 'out', NAMESPACE, 'secrets', name);
const certificates = (name: string, file: string): readonly Certificate[] =>
  parseCertificates(readFileSync(join(secret(name), file))).certificates;
const fingerprints = (name: string): readonly string[] =>
  certificates(name, 'ca.crt').map(({ fingerprint }) => fingerprint);

interface Files {
  readonly chain: readonly Certificate[];
  readonly anchors: readonly Certificate[];
}
const held = (): readonly Files[] =>
  NAMES.filter((name) => existsSync(join(secret(name), 'tls.crt'))).map((name) => ({
    chain: certificates(name, 'tls.crt'),
    anchors: certificates(name, 'ca.crt'),
  }));
const accepts = (verifiers: readonly Files[], presenters: readonly Files[]): boolean =>
  verifiers.every(({ anchors }) =>
    presenters.every(({ chain }) => verifyChain({ chain, anchors, at: at(), purpose: 'client' }).ok),
  );
/** Runs until the end. At each run a program that has loaded the files of the run before still agrees with all others. */
const recovers = async (alwaysTrue: () => void = () => {}): Promise<void> => {
  let before = held();
  const step = async (...more: readonly string[]): Promise<Ran> => {
    const ran = await certgen(...more);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const now = held();
    expect(accepts(before, now)).toBe(true);
    expect(accepts(now, before)).toBe(true);
    alwaysTrue();
    before = now;
    return ran;
  };
  const old = fingerprints('envoy');
  const leaf = certificates('envoy', 'tls.crt')[0]?.fingerprint;
  expect((await step('--overwrite')).stdout).toContain(': Introducing');
  expect([...fingerprints('envoy').slice(1)].sort()).toEqual([...old].sort());
  expect(certificates('envoy', 'tls.crt')[0]?.fingerprint).toBe(leaf);
  for (let runs = 0; runs < 3; runs++) {
    passed += 5 * minute;
    await step();
  }
  expect((await step()).stdout).toMatch(/^0 objects written\n.*: Stable\n$/);
  for (const name of NAMES) {
    expect(certificates(name, 'ca.crt')).toHaveLength(1);
    expect(old).not.toContain(fingerprints(name)[0]);
  }
  expect((await ask('check')).stdout).toMatch(/^HANDOVER OK /);
};

test('certgen with a lost state exits 1 and names the CA by its fingerprint, writes nothing, and recovers with --overwrite', async () => {
  await certgen();
  const [ca] = fingerprints('envoy');
  rmSync(state());
  const before = held();
  for (const flags of [[], ['--wait']]) {
    const { code, stdout, stderr } = await certgen(...flags);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^CERTGEN_STATE_MISSING: .* hold a CA whose state is missing.*--overwrite[^\n]*\n$/,
    );
    expect(stderr).toContain(`${ca}`);
    expect(stderr).toContain(state());
    expect(stderr).not.toContain('spec.adopt');
  }
  const { stderr } = await certgen('--json');
  expect(JSON.parse(stderr).error.code).toBe('CERTGEN_STATE_MISSING');
  expect(held()).toEqual(before);
  expect(existsSync(state())).toBe(false);
  for (const command of ['status', 'plan', 'check']) {
    const { stdout } = await ask(command);
    expect(stdout).toMatch(/ a CA whose state is missing.*certgen with --overwrite/);
    expect(stdout).not.toMatch(/is being created|Create CA/);
  }
  expect(await ask('check')).toMatchObject({ code: 2, stdout: expect.stringMatching(/^HANDOVER CRITICAL/) });
  await recovers();
});

test('certgen keeps every CA in use trusted after a state was lost in the middle of a rotation', async () => {
  await certgen();
  await certgen('--rotation-id', 'r');
  expect(fingerprints('envoy')).toHaveLength(2);
  rmSync(state());
  const { stderr } = await certgen();
  for (const ca of fingerprints('envoy')) expect(stderr).toContain(ca);
  await recovers();
});

test.each(NAMES)(
  'certgen with a lost state and a lost Secret %s recovers with --overwrite, as the message says',
  async (lost) => {
    await certgen();
    rmSync(state());
    rmSync(secret(lost), { recursive: true });
    expect((await certgen()).stderr).toMatch(/^CERTGEN_STATE_MISSING: .*--overwrite/);
    const present = lost === 'envoy' ? 'envoy-gateway' : 'envoy';
    const old = fingerprints(present);
    expect(await certgen('--overwrite')).toMatchObject({ code: 0, stderr: '' });
    expect(fingerprints(present).slice(1)).toEqual(old);
    for (let runs = 0; runs < 3; runs++) {
      passed += 5 * minute;
      await certgen();
    }
    expect((await certgen()).stdout).toMatch(/: Stable\n$/);
    expect(held()).toHaveLength(3);
    expect(accepts(held(), held())).toBe(true);
  },
);

test.each(NAMES)(
  'certgen --overwrite takes over Secrets of another program of which %s is missing, as the message says',
  async (missing) => {
    const donor = newHome();
    await handover(['certgen', '--preset', 'envoy-gateway', '--home', `dir:${donor}`], { now: at() });
    for (const name of NAMES.filter((one) => one !== missing)) {
      mkdirSync(secret(name), { recursive: true });
      for (const file of ['tls.crt', 'tls.key', 'ca.crt']) {
        const from = join(donor, 'out', NAMESPACE, 'secrets', name, file);
        writeFileSync(join(secret(name), file), readFileSync(from), { mode: 0o600 });
      }
    }
    const { code, stderr } = await certgen();
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^CERTGEN_NO_KEY: .*secrets/${missing} is missing.*--overwrite`));
    expect(stderr).not.toContain('spec.adopt');
    expect(await certgen('--overwrite')).toMatchObject({ code: 0 });
    for (let runs = 0; runs < 3; runs++) {
      passed += 5 * minute;
      await certgen();
    }
    expect((await certgen()).stdout).toMatch(/: Stable\n$/);
    expect(held()).toHaveLength(3);
    expect(accepts(held(), held())).toBe(true);
  },
);

test('certgen exits 1 over a CA that only the ConfigMap holds, with and without --overwrite, and says what to do', async () => {
  await certgen();
  rmSync(state());
  for (const name of NAMES) rmSync(secret(name), { recursive: true });
  expect(await certgen()).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^ADOPT_UNDECIDED: .*configmaps\/envoy-gateway-ca-trust.*whose state is missing.*delete the object/,
    ),
  });
  const refused = await certgen('--overwrite');
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^ADOPT_UNDECIDED: .*configmaps\/envoy-gateway-ca-trust.*delete the object/,
    ),
  });
  expect(refused.stderr).not.toContain('spec.adopt.fingerprints');
  rmSync(join(dir, 'out', NAMESPACE, 'configmaps'), { recursive: true });
  expect(await certgen()).toMatchObject({ code: 0, stdout: expect.stringContaining(': Stable') });
});

/** A state from the middle of a rotation, put back after the new CA was distrusted. */
const restored = async (): Promise<string | undefined> => {
  await certgen();
  await certgen('--rotation-id', 'r');
  const [distrusted] = fingerprints('envoy');
  const backup = join(temporaryFolder(), 'backup.json');
  cpSync(state(), backup);
  expect(await ask('distrust', ID, '--generation', '2', '--yes')).toMatchObject({ code: 0 });
  passed += minute;
  cpSync(backup, state());
  return distrusted;
};

test('certgen exits 1 in every run with a state from an old backup, and check is CRITICAL', async () => {
  await restored();
  const before = held();
  for (const flags of [[], ['--overwrite'], ['--rotation-id', 'r'], ['--rotation-id', 's'], ['--wait']]) {
    const { code, stdout, stderr } = await certgen(...flags);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^CERTGEN_STATE_OUTDATED: .*restored from a backup.*--overwrite[^\n]*\n$/);
    expect(stderr).toContain(`delete ${state()}`);
    expect(stderr).not.toContain('spec.adopt');
  }
  expect(held()).toEqual(before);
  expect(await ask('check')).toMatchObject({
    code: 2,
    stdout: expect.stringMatching(/^HANDOVER CRITICAL - .*restored from a backup/),
  });
});

test('certgen --overwrite recovers once a state from an old backup is deleted, and the distrusted CA stays out', async () => {
  const distrusted = await restored();
  rmSync(state());
  expect((await certgen()).stderr).toMatch(/^CERTGEN_STATE_MISSING: /);
  await recovers(() => {
    for (const name of NAMES) expect(fingerprints(name)).not.toContain(distrusted);
  });
});
