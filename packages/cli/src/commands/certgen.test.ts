import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Certificate, instant, parseCertificates, verifyChain } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { beforeEach, describe, expect, test } from 'vitest';
import { handover, NOW } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';

let dir: string;
let now = 0;
beforeEach(() => {
  dir = newHome();
  now = 0;
});
const SECRETS = ['envoy', 'envoy-gateway', 'envoy-oidc-hmac', 'envoy-rate-limit'];
const NAMESPACE = 'envoy-gateway-system';
const certgen = (...more: readonly string[]) =>
  handover(['certgen', '--preset', 'envoy-gateway', '--home', `dir:${dir}`, ...more], {
    now: instant(NOW + now * 1000),
  });
const secret = (name: string, from = dir) => join(from, 'out', NAMESPACE, 'secrets', name);
const certificates = (name: string, file: string): readonly Certificate[] =>
  parseCertificates(readFileSync(join(secret(name), file))).certificates;
const generationsIn = (name: string) =>
  certificates(name, 'ca.crt').map(({ subject }) => subject.split(' ')[1]);
const accepted = (presenter: string, verifier: string): boolean =>
  verifyChain({
    chain: certificates(presenter, 'tls.crt'),
    anchors: certificates(verifier, 'ca.crt'),
    at: instant(NOW + now * 1000),
    purpose: 'client',
  }).ok;

describe('certgen --preset envoy-gateway', () => {
  test('S3.1 four Secrets with upstream’s names, keys, types and SANs; a rerun writes nothing; one missing is made alone', async () => {
    expect(await certgen()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^5 objects written\n/) });
    expect(readdirSync(join(dir, 'out', NAMESPACE, 'secrets')).sort()).toEqual(SECRETS);
    expect(certificates('envoy-gateway', 'tls.crt')[0]?.dnsNames).toEqual([
      'envoy-gateway',
      `envoy-gateway.${NAMESPACE}`,
      `envoy-gateway.${NAMESPACE}.svc`,
      `envoy-gateway.${NAMESPACE}.svc.cluster.local`,
    ]);
    for (const name of ['envoy', 'envoy-rate-limit'])
      expect(certificates(name, 'tls.crt')[0]?.dnsNames).toEqual([`*.${NAMESPACE}`]);
    expect(readFileSync(join(secret('envoy-oidc-hmac'), 'hmac-secret'))).toHaveLength(32);
    const record = (name: string) =>
      JSON.parse(readFileSync(join(secret(name), '..data/.handover.json'), 'utf8')).objects[''].record;
    expect(record('envoy')).toMatchObject({
      type: 'kubernetes.io/tls',
      labels: { 'control-plane': 'envoy-gateway' },
    });
    expect(record('envoy-oidc-hmac').type).toBe('Opaque');
    expect(await certgen()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^0 objects written\n/) });
    const kept = readFileSync(join(secret('envoy'), 'tls.crt'), 'utf8');
    rmSync(secret('envoy-rate-limit'), { recursive: true });
    expect(await certgen()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^1 object written\n/) });
    expect(readFileSync(join(secret('envoy'), 'tls.crt'), 'utf8')).toBe(kept);
    expect(accepted('envoy-rate-limit', 'envoy')).toBe(true);
  });

  test('S3.2 and S3.8: the bundle is new then old, never more, and the old CA goes once the rotation has ended', async () => {
    await certgen();
    await certgen('--overwrite');
    expect(generationsIn('envoy')).toEqual(['2', '1']);
    now = 300;
    await certgen('--overwrite');
    expect(generationsIn('envoy')).toEqual(['3', '2']);
    now = 600;
    const old = readFileSync(join(secret('envoy'), 'tls.crt'));
    await certgen('--rotation-id', 'overwrite-2');
    expect(generationsIn('envoy')).toEqual(['3']);
    expect(readFileSync(join(secret('envoy'), 'tls.crt'))).toEqual(old);
  });

  test('S3.5 a run that is repeated with its id goes on with the same CA, also when it was the very first', async () => {
    await certgen('--rotation-id', 'job-1');
    await certgen('--rotation-id', 'job-1');
    expect(generationsIn('envoy')).toEqual(['1']);
    await certgen('--rotation-id', 'job-2');
    const second = readFileSync(join(secret('envoy'), 'ca.crt'), 'utf8');
    await certgen('--rotation-id', 'job-2');
    await certgen('--overwrite');
    for (const name of ['envoy', 'envoy-gateway', 'envoy-rate-limit'])
      expect(readFileSync(join(secret(name), 'ca.crt'), 'utf8')).toBe(second);
  });

  test('a rotation asked for before the last one has ended is exit 1 and names the blocker', async () => {
    await certgen();
    await certgen('--rotation-id', 'a');
    const { code, stderr } = await certgen('--rotation-id', 'b');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^ROTATION_WAITS: rotation b of .* waits for the one before it: Activating, waiting for /,
    );
    now = 300;
    expect(await certgen('--rotation-id', 'b')).toMatchObject({ code: 0 });
    expect(generationsIn('envoy')).toEqual(['3', '2']);
  });

  test('S3.9 the HMAC is never touched', async () => {
    await certgen();
    const hmac = readFileSync(join(secret('envoy-oidc-hmac'), 'hmac-secret'));
    await certgen('--overwrite');
    now = 300;
    await certgen('--overwrite');
    expect(readFileSync(join(secret('envoy-oidc-hmac'), 'hmac-secret'))).toEqual(hmac);
  });

  test('S3.11 Secrets without a kept CA key are left alone, or taken over: trusted first, leaves later', async () => {
    const donor = newHome();
    await handover(['certgen', '--preset', 'envoy-gateway', '--home', `dir:${donor}`]);
    for (const name of ['envoy', 'envoy-gateway', 'envoy-rate-limit']) {
      mkdirSync(secret(name), { recursive: true });
      for (const file of ['tls.crt', 'tls.key', 'ca.crt'])
        writeFileSync(join(secret(name), file), readFileSync(join(secret(name, donor), file)), {
          mode: 0o600,
        });
    }
    const before = readFileSync(join(secret('envoy'), 'tls.crt'), 'utf8');
    expect(await certgen()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^1 object written\n/) });
    expect(readFileSync(join(secret('envoy'), 'tls.crt'), 'utf8')).toBe(before);
    expect(existsSync(join(dir, 'state/authorities'))).toBe(false);
    const taken = await certgen('--rotation-id', 'takeover');
    expect(taken.stdout).toContain('Introducing');
    expect(readFileSync(join(secret('envoy'), 'tls.crt'), 'utf8')).toBe(before);
    expect(certificates('envoy', 'ca.crt')).toHaveLength(2);
    now = 200;
    expect((await certgen('--rotation-id', 'takeover')).stdout).toContain('Activating');
    expect(readFileSync(join(secret('envoy'), 'tls.crt'), 'utf8')).not.toBe(before);
    expect(accepted('envoy', 'envoy-gateway')).toBe(true);
    now = 400;
    expect((await certgen('--rotation-id', 'takeover')).stdout).toContain('Stable');
    expect(certificates('envoy', 'ca.crt')).toHaveLength(1);
    rmSync(secret('envoy'), { recursive: true });
    rmSync(join(dir, 'state'), { recursive: true });
    expect((await certgen()).stderr).toMatch(/^CERTGEN_STATE_MISSING: .*--overwrite/);
  });
});

test('certgen with resources of one’s own, in a namespace, waits until it is complete', async () => {
  const file = join(temporaryFolder(), 'own.yaml');
  writeFileSync(
    file,
    `apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: own}
spec: {rotation: {reloadWithin: 0s}}
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: x}
spec: {authority: own, dnsNames: [x]}
`,
  );
  const run = (...more: string[]) =>
    handover(['certgen', '-f', file, '--namespace', 'far', '--home', `dir:${dir}`, '--json', ...more]);
  await run();
  const { code, stdout } = await run('--rotation-id', 'r', '--wait');
  expect(code).toBe(0);
  expect(JSON.parse(stdout).authorities).toMatchObject([
    { authority: 'far/own', phase: 'Stable', rotation: 'r' },
  ]);
  expect((await run('--preset', 'envoy-gateway')).code).toBe(2);
});
