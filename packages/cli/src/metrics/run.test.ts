import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { TestClock, temporaryFolder } from '@handover/test-api-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { goOn, handover, NOW } from '../../test/capture.ts';
import { keysIn, keysMade } from '../../test/keys-made.ts';

const root = temporaryFolder({ inMemory: true });

const YAML = `
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: free}
spec: {rotation: {reloadWithin: 0s}}
---
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata: {name: held}
spec:
  key: RSA-2048
  rotation: {reloadWithin: 0s}
  consumers: [{name: absent, presents: true, verifies: true, probe: {address: "127.0.0.1:1"}}]
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: web}
spec: {authority: free, dnsNames: [localhost], usages: [server], reload: {command: ["true"]}}
---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: deaf}
spec: {authority: held, dnsNames: [localhost], usages: [server], reload: {command: ["false"]}}
`;

let made: ReturnType<typeof keysMade>;
beforeEach(() => {
  made = keysMade();
});
afterEach(() => made.end());

/** Until a page has every one of these. */
const scraped = (clock: TestClock, url: string, ...wanted: readonly RegExp[]): Promise<string> =>
  clock.until(async () => {
    const page = await (await fetch(url)).text();
    const body = page
      .split('\n')
      .filter((line) => line.startsWith('handover_'))
      .join('\n');
    for (const each of wanted) expect(body).toMatch(each);
    return body;
  });

test('/metrics of run shows a rotation, and nothing it prints at trace level holds a key', async () => {
  const dir = join(root, 'home');
  await handover(['init', dir]);
  writeFileSync(join(dir, 'handover.yaml'), YAML);
  const clock = new TestClock(NOW);
  const live = goOn(['run', dir, '--json', '--log-level', 'trace', '--metrics-address', '127.0.0.1:0'], {
    clock,
  });
  const urlSaid = (): string | undefined => /"event":"serving","url":"([^"]+)"/.exec(live.said())?.[1];
  await clock.until(() => urlSaid() !== undefined);
  const url = urlSaid() ?? '';
  const rest = await scraped(
    clock,
    url,
    /^handover_authority_phase\{authority="default\/free",phase="Stable"\} 1$/m,
    /^handover_authority_phase\{authority="default\/held",phase="Stable"\} 1$/m,
    /^handover_ca_expiry_timestamp_seconds\{authority="default\/free",generation="1",role="current"\} \d{10}/m,
    /^handover_leaf_expiry_timestamp_seconds\{leaf="default\/web",authority="default\/free"\} \d{10}/m,
    /^handover_leaves_missing\{authority="default\/free"\} 0$/m,
    /^handover_leading 1$/m,
    /^handover_queue_depth \d+$/m,
    /^handover_queue_planned [1-9]/m,
    /^handover_reloads_total\{what="hook_command",result="done",reason="done"\} 1$/m,
    /^handover_reloads_total\{what="hook_command",result="failed",reason="exit_code"\} [1-9]/m,
    /^handover_hook_failing\{hook="Leaf default\/deaf"\} 1$/m,
    /^handover_hook_failing\{hook="Leaf default\/web"\} 0$/m,
    /^handover_probes_total\{how="probe",result="silent"\} [1-9]/m,
    /^handover_info\{version="\d+\.\d+\.\d+"\} 1$/m,
  );
  expect(rest).toMatch(/^handover_blocked_consumers\{authority="default\/free"\} 0$/m);

  // Another program edits a bundle; the request for a rotation causes the next look at once.
  const bundle = join(dir, 'out/default/configmaps/held-trust/ca.crt');
  const before = readFileSync(bundle, 'utf8');
  writeFileSync(bundle, 'nothing of ours\n');
  for (const name of ['free', 'held'])
    await handover(['rotate', `default/${name}`, '--id', 'q1', '--home', `dir:${dir}`], { now: clock.now() });
  const moved = await scraped(
    clock,
    url,
    /^handover_drift_repairs_total\{kind="configmaps"\} 1$/m,
    /^handover_authority_phase\{authority="default\/held",phase="Introducing"\} 1$/m,
    /^handover_authority_phase\{authority="default\/held",phase="Stable"\} 0$/m,
    /^handover_blocked_consumers\{authority="default\/held"\} 1$/m,
    /^handover_blocking_consumer_since_timestamp_seconds\{authority="default\/held",consumer="absent"\} \d{10}/m,
    /^handover_consumers\{authority="default\/held",evidence="none",stands="none"\} 1$/m,
    /^handover_ca_expiry_timestamp_seconds\{authority="default\/free",generation="2",role="current"\} /m,
    /^handover_decisions_total\{action="mint"\} 4$/m,
    /^handover_decisions_total\{action="activate"\} 1$/m,
    /^handover_decisions_total\{action="retire"\} 1$/m,
    /^handover_authority_phase_since_timestamp_seconds\{authority="default\/held"\} \d{10}/m,
  );
  // The retired generation is no series any more.
  await scraped(clock, url, /^(?![\s\S]*authority="default\/free",generation="1")/);
  expect(readFileSync(bundle, 'utf8').startsWith(before.slice(0, 30))).toBe(true);
  expect(await live.stop()).toBe(0);

  const lines = live
    .said()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const line of lines) expect(line).toMatchObject({ level: expect.any(String), at: expect.any(String) });
  expect(lines.filter(({ level }) => level === 'trace').length).toBeGreaterThan(0);
  const decided = lines.filter(({ event }) => event === 'decided');
  expect(decided.map(({ action }) => action)).toContain('retire');
  for (const { why } of decided) expect(why).toMatch(/\w/);

  // Two CAs of each kind, leaves, canaries and controls; old ones included.
  expect(made.keys.length).toBeGreaterThan(8);
  const everything = `${live.said()}\n${rest}\n${moved}`;
  expect(keysIn(everything, made.keys)).toEqual([]);
  expect(everything).not.toMatch(/PRIVATE/);
  // The search does find them where they are.
  const written = readFileSync(join(dir, 'out/default/secrets/web/tls.key'), 'utf8');
  expect(keysIn(written, made.keys).length).toBeGreaterThan(0);
});

test('--log-level without --json only leaves lines out', async () => {
  const dir = join(root, 'quiet');
  await handover(['init', dir]);
  const quiet = await handover(['run', dir, '--once', '--log-level', 'warn']);
  expect(quiet).toEqual({ code: 0, stdout: '', stderr: '' });
  expect((await handover(['run', dir, '--once'])).stdout).toContain('default/internal: Stable');
});

test('run reports in one line a metrics address that is none, and one that is taken', async () => {
  const dir = join(root, 'taken');
  await handover(['init', dir]);
  expect(await handover(['run', dir, '--once', '--metrics-address', 'here'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^USAGE: [^\n]+\n$/),
  });
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  expect(await handover(['run', dir, '--once', '--metrics-address', `127.0.0.1:${port}`])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^ADDRESS_UNUSABLE: [^\n]+\n$/),
  });
  other.close();
  expect(await handover(['run', dir, '--once', '--log-level', 'loud'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^USAGE: [^\n]+\n$/),
  });
});
