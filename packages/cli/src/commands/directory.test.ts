import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { MemoryAuthorities } from '@handover/engine';
import { instant } from '@handover/material';
import { TestClock } from '@handover/test-api-server';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Around, ERROR_LINE, goOn, handover, NOW, turning } from '../../test/capture.ts';
import { newHome } from '../../test/home.ts';

let dir: string;
beforeEach(() => {
  dir = newHome();
});

const at = (seconds: number): Around => ({ now: instant(NOW + seconds * 1000) });
const begin = async (edit: (yaml: string) => string = (yaml) => yaml) => {
  await handover(['init', dir]);
  const file = join(dir, 'handover.yaml');
  writeFileSync(file, edit(readFileSync(file, 'utf8')));
  expect(await handover(['run', dir, '--once'])).toMatchObject({ code: 0, stderr: '' });
};
const statusAt = async (seconds: number) => {
  const { stdout } = await handover(['status', '--json', '--home', `dir:${dir}`], at(seconds));
  return JSON.parse(stdout).authorities[0];
};

describe('A directory of one’s own', () => {
  test('a new directory begins with init, is filled by run --once, and a second pass changes nothing', async () => {
    expect(await handover(['init', dir])).toMatchObject({ code: 0 });
    const first = await handover(['run', dir, '--once']);
    expect(first.stdout).toContain('Create CA generation 1');
    expect(existsSync(join(dir, 'out/default/secrets/web/tls.crt'))).toBe(true);
    const second = await handover(['run', dir, '--once']);
    expect(second.stdout).toBe('read 1 authority, 1 leaf\ndefault/internal: Stable\n');
    expect(await handover(['init', dir])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^HOME_NOT_EMPTY/),
    });
  });

  test('run --json prints one document per event', async () => {
    await handover(['init', dir]);
    const { stdout } = await handover(['run', dir, '--once', '--json']);
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ event }) => event)).toEqual(['loaded', 'acted', 'acted', 'rested']);
    expect(stdout).not.toContain('PRIVATE');
  });

  test('status warns of a CA that is not replaced in time, and later calls it critical', async () => {
    await begin();
    const { notBefore, notAfter } = (await statusAt(0)).generations[0];
    const life = (Date.parse(notAfter) - Date.parse(notBefore)) / 1000;
    const shown = (share: number) => handover(['status', '--home', `dir:${dir}`], at(share * life));
    expect((await shown(0.85)).stdout).not.toContain('Expiring');
    expect((await statusAt(0.85 * life)).expiring).toBeNull();
    expect((await shown(0.91)).stdout).toMatch(/^default\/internal {2}Stable {2}ExpiringSoon {2}not ready\n/);
    const late = await shown(0.99);
    expect(late.stdout).toMatch(/^default\/internal {2}Stable {2}Critical {2}not ready\n/);
    expect(late.stdout).toContain('\nCritical: Authority default/internal: CA generation 1 expires at ');
    expect((await statusAt(0.99 * life)).expiring).toBe('Critical');
  });

  test('rotate advances what is allowed at each call, and the same id never rotates twice', async () => {
    await begin();
    const rotate = (seconds: number, id = 'q1') =>
      handover(['rotate', 'default/internal', '--id', id, '--home', `dir:${dir}`], at(seconds));
    expect((await rotate(0)).stdout).toContain('is Introducing');
    expect((await rotate(100)).stdout).toContain('is Introducing');
    expect((await rotate(200)).stdout).toContain('is Activating');
    expect((await rotate(400)).stdout).toBe('rotation q1 of default/internal is complete\n');
    expect((await rotate(600)).stdout).toBe('rotation q1 of default/internal is complete\n');
    const status = await statusAt(600);
    expect(status).toMatchObject({ phase: 'Stable', blockedBy: [], leaves: [{ generation: 2 }] });
    expect(status.generations).toHaveLength(1);
    expect(Object.keys(status.generations[0])).toEqual([
      'generation',
      'role',
      'fingerprint',
      'notBefore',
      'notAfter',
    ]);
  });

  test('a rotation stays complete while a later one is under way', async () => {
    await begin();
    const rotate = (seconds: number, id: string) =>
      handover(['rotate', 'default/internal', '--id', id, '--home', `dir:${dir}`], at(seconds));
    for (const seconds of [0, 200, 400]) await rotate(seconds, 'q1');
    expect((await rotate(400, 'q2')).stdout).toContain('rotation q2 of default/internal is Introducing');
    expect(await rotate(400, 'q1')).toMatchObject({
      stdout: 'rotation q1 of default/internal is complete\n',
      stderr: expect.stringContaining('evidence of this rotation: 0 shown, 3 assumed (nothing shows'),
    });
  });

  test('status of one authority shows the last rotation: its requester, and the reason and evidence of each step', async () => {
    await begin();
    for (const seconds of [0, 200, 400])
      await handover(['rotate', 'default/internal', '--id', 'q1', '--home', `dir:${dir}`], at(seconds));
    const { stdout } = await handover(['status', 'default/internal', '--home', `dir:${dir}`], at(400));
    expect(stdout).toContain(`  last change q1, requested by user ${userInfo().username}\n`);
    expect(stdout).toMatch(/Z {2}created CA generation 2: rotation q1 was requested\n/);
    expect(stdout).toMatch(
      /Z {2}started to sign with CA generation 2: every verifier holds CA generation 2 \[2 assumed: 2 settled\]\n/,
    );
    expect(stdout).toMatch(/Z {2}retired CA generation 1: every presenter .* \[3 assumed: 3 settled\]\n/);
    const one = await handover(['status', 'default/internal', '--json', '--home', `dir:${dir}`], at(400));
    const { history } = JSON.parse(one.stdout).authorities[0];
    expect(await statusAt(400)).not.toHaveProperty('history');
    expect(history.map(({ step }: { readonly step: string }) => step)).toEqual([
      'mint',
      'mint',
      'activate',
      'retire',
    ]);
    const log = readFileSync(join(dir, 'state/log/issued.jsonl'), 'utf8').trim().split('\n');
    expect(log.map((line) => JSON.parse(line).kind)).toEqual(['ca', 'leaf', 'ca', 'cross', 'leaf']);
  });

  test('rotate --wait runs until the old CA is gone, and names the blocker when it takes too long', async () => {
    await begin((yaml) => yaml.replace('reloadWithin: 3m', 'reloadWithin: 0s'));
    const done = await handover(['rotate', 'internal', '--wait', '--json', '--home', `dir:${dir}`]);
    expect(JSON.parse(done.stdout)).toMatchObject({ begun: true, done: true, phase: 'Stable' });
    writeFileSync(
      join(dir, 'handover.yaml'),
      readFileSync(join(dir, 'handover.yaml'), 'utf8').replace('0s', '1h'),
    );
    const late = await handover([
      'rotate',
      'internal',
      '--id',
      'again',
      '--wait',
      '--timeout',
      '300ms',
      '--home',
      `dir:${dir}`,
    ]);
    expect(late.code).toBe(1);
    expect(late.stderr).toMatch(
      /ROTATION_UNFINISHED: waiting for default\/internal took too long: Introducing: .*readers of/,
    );
  });

  test('status names what a step waits for; plan says what would be done; both write nothing', async () => {
    await begin();
    const request = await handover(['plan', '--home', `dir:${dir}`]);
    expect(request.stdout).toBe('default/internal: Nothing to do.\n');
    await handover(['rotate', 'default/internal', '--home', `dir:${dir}`]);
    expect((await statusAt(1)).blockedBy[0]).toMatchObject({
      consumer: expect.stringContaining('readers of'),
      waitsFor: 'to load CA generation 2',
    });
    const status = (terminal: boolean) =>
      handover(['status', ...(terminal ? ['--watch'] : []), '--home', `dir:${dir}`], {
        ...at(60),
        terminal,
        signal: AbortSignal.abort(),
      });
    expect((await status(false)).stdout).toContain('\n  due at 2030-06-01T00:03:00.000Z\n');
    expect((await status(true)).stdout).toContain('\n  due in 2m\n');
    const later = await handover(['plan', 'default/internal', '--home', `dir:${dir}`], at(200));
    expect(later.stdout).toContain('Sign with CA generation 2 from now on, cross-signed by CA generation 1');
    expect((await statusAt(200)).phase).toBe('Introducing');
    const json = await handover(['plan', '--json', '--home', `dir:${dir}`], at(200));
    expect(JSON.parse(json.stdout).plans[0].actions).toMatchObject([
      { kind: 'activate', why: expect.any(String) },
    ]);
  });

  test('settings without effect in a directory are named by run, status and plan, and stop nothing', async () => {
    await handover(['init', dir]);
    const file = join(dir, 'handover.yaml');
    const yaml = readFileSync(file, 'utf8')
      .replace(
        '  # Programs that show',
        '  consumers: [{name: w, presents: true, verifies: true, leaf: web, bundle: b}]\n  #',
      )
      .concat(`---
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata: {name: lost}
spec: {authority: absent, dnsNames: [x]}
---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: wide}
spec:
  sources: [{authority: default/internal}, {authority: far/away}]
  targets:
    - configMap: {name: wide}
    - inject: {kind: APIService, name: v1.example.com}
    - clusterTrustBundle: {name: wide}
    - secret: {name: none, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: far}}}
`);
    writeFileSync(file, yaml);
    const unusable = [
      'Leaf default/lost: AUTHORITY_UNKNOWN: spec.authority absent is not declared, so that no certificate is issued; name one of: default/internal',
      'TrustBundle wide: AUTHORITY_UNKNOWN: spec.sources[1].authority far/away is not declared, so that the bundle lacks its CA; name one of: default/internal',
    ];
    const remarks = [
      "Authority default/internal: spec.consumers[0].bundle b is no TrustBundle with this Authority, so that w counts as a reader of the Authority's own bundle; name one of: wide",
      'TrustBundle wide: spec.targets[1].inject has no effect: a directory has no such object; use configMap or secret, or the Kubernetes home',
      'TrustBundle wide: spec.targets[2].clusterTrustBundle has no effect: a directory has no such object; use configMap or secret, or the Kubernetes home',
      'TrustBundle wide: spec.targets[3] has no effect: its namespaceSelector selects no namespace; name one of: default',
    ];
    const ran = await handover(['run', dir, '--once', '--json']);
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.stdout.split('\n')[0] ?? '')).toMatchObject({
      event: 'loaded',
      remarks: [...unusable, ...remarks],
    });
    const again = await handover(['run', dir, '--once']);
    expect(again.stdout).toContain(unusable[0]);
    expect(again.stdout).toContain('\nand 1 more\n');
    for (const command of ['status', 'plan']) {
      const { stdout } = await handover([command, '--home', `dir:${dir}`]);
      for (const remark of [...unusable, ...remarks]) expect(stdout).toContain(`\n${remark}\n`);
      const json = await handover([command, '--json', '--home', `dir:${dir}`]);
      expect(JSON.parse(json.stdout).remarks).toEqual(remarks);
    }
    expect(existsSync(join(dir, 'out/default/configmaps/wide/ca.crt'))).toBe(true);
  });

  test('a TrustBundle that selects its sources by labels is told that a directory has none', async () => {
    await handover(['init', dir]);
    const bundle = `---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: labelled}
spec:
  sources: [{configMap: {selector: {matchLabels: {role: ca}}}}]
  targets: [{configMap: {name: labelled}}]
`;
    writeFileSync(join(dir, 'labelled.yaml'), bundle);
    const { code, stderr } = await handover(['run', dir, '--once']);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'SOURCE_MISSING: TrustBundle labelled: source with a selector: only an operator with custom resources selects by labels; give name instead',
    );
    expect(existsSync(join(dir, 'out/default/configmaps/labelled'))).toBe(false);
  });

  test('a consumer with a misspelt Leaf fails run --once by its code, and status says what to do', async () => {
    await begin();
    const file = join(dir, 'handover.yaml');
    const consumers = '  consumers: [{name: w, presents: true, leaf: wob}]\n  #';
    writeFileSync(file, readFileSync(file, 'utf8').replace('  # Programs that show', consumers));
    const ran = await handover(['run', dir, '--once']);
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('CONSUMER_LEAF_UNKNOWN') });
    const { stdout } = await handover(['status', '--home', `dir:${dir}`]);
    expect(stdout).toContain(
      '\nAuthority default/internal: CONSUMER_LEAF_UNKNOWN: spec.consumers[0].leaf wob is no Leaf of this Authority, so that the next rotation waits for w; name one of: default/web\n',
    );
  });

  test('verify shows every pair, now and next, and exits 1 when one fails', async () => {
    await begin();
    const good = await handover(['verify', '--home', `dir:${dir}`]);
    expect(good).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('default/secrets/web             ok/ok'),
    });
    const other = newHome();
    await handover(['init', other]);
    await handover(['run', other, '--once']);
    const bundle = 'out/default/configmaps/internal-trust/ca.crt';
    writeFileSync(join(dir, bundle), readFileSync(join(other, bundle)));
    const bad = await handover(['verify', '--json', '--home', `dir:${dir}`]);
    expect(bad.code).toBe(1);
    const [pair] = JSON.parse(bad.stdout).authorities[0].pairs.filter(
      ({ now }: { now: { ok: boolean } }) => !now.ok,
    );
    expect(pair).toMatchObject({
      presenter: 'default/secrets/web',
      verifier: 'default/configmaps/internal-trust/ca.crt',
    });
    expect((await handover(['verify', '--home', `dir:${dir}`])).stdout).toContain(
      'default/configmaps/internal-trust/ca.crt refuses default/secrets/web',
    );
  });

  test('distrust first lists the pairs that would fail, and acts only when told', async () => {
    await begin();
    const asked = await handover(['distrust', 'internal', '--generation', '1', '--home', `dir:${dir}`]);
    expect(asked.stdout).toContain('would refuse default/secrets/web');
    expect(asked.stdout).toContain('nothing was changed');
    expect((await statusAt(1)).generations).toHaveLength(1);
    const done = await handover([
      'distrust',
      'internal',
      '--generation',
      '1',
      '--yes',
      '--home',
      `dir:${dir}`,
    ]);
    expect(done.stdout).toContain('CA generation 1 of default/internal is distrusted');
    expect((await statusAt(1)).generations).toMatchObject([
      { generation: 2, role: 'current' },
      { role: 'distrusted' },
    ]);
  });

  test.each([[], ['--json']])(
    'distrust --yes %s is carried out although the pairs that would fail are not known',
    async (...json) => {
      await begin();
      const dryRun = vi.spyOn(MemoryAuthorities.prototype, 'swap').mockRejectedValue(new Error('too many'));
      onTestFinished(() => void dryRun.mockRestore());
      const asked = ['distrust', 'internal', '--generation', '1', '--home', `dir:${dir}`];
      expect((await handover(asked)).code).toBe(1);
      const done = await handover([...asked, '--yes', ...json]);
      const lines = done.stderr.trim().split('\n');
      const messages = json.length === 0 ? lines : lines.map((line) => JSON.parse(line).error.message);
      for (const message of messages)
        expect(message).toMatch(/^the dry run failed, so the peers that would fail are not known: /);
      if (json.length === 0) expect(done.stdout).toBe('CA generation 1 of default/internal is distrusted\n');
      else expect(JSON.parse(done.stdout)).toMatchObject({ done: true });
      expect((await statusAt(1)).generations).toMatchObject([{ generation: 2 }, { role: 'distrusted' }]);
    },
  );
});

test.each([
  [['run', '/nonexistent/x'], 1, 'HOME_MISSING: '],
  [['status', '--home', 'dir:/nonexistent/x'], 1, 'HOME_MISSING: '],
  [['status', '--home', 'dir:'], 2, 'USAGE: unknown value "dir:" for --home; write dir:PATH'],
  [['status', '--home', 'kube', '--kubeconfig', '/nonexistent/x'], 1, 'KUBECONFIG_NOT_FOUND: '],
  [['rotate'], 2, "USAGE: missing required argument 'auth'"],
  [['rotate', 'a/b', '--timeout', 'soon'], 2, 'USAGE: --timeout: "soon" is not a duration'],
  [['distrust', 'a/b', '--generation', 'x'], 2, 'USAGE: --generation x is not a generation'],
  [['distrust', 'a/b'], 2, "USAGE: required option '--generation <n>' not specified"],
])('a mistake on the command line is one line that says what to do: %j', async (args, code, says) => {
  const ran = await handover(args);
  expect(ran).toMatchObject({ code, stdout: '' });
  expect(ran.stderr).toMatch(ERROR_LINE);
  expect(ran.stderr.startsWith(says)).toBe(true);
});

test.each([
  [
    (yaml: string) => yaml.replace('lifetime: 5y', 'lifetime: soon'),
    /^RESOURCE_INVALID: handover\.yaml:9:3: .*soon/,
  ],
  [
    (yaml: string) => yaml.replace('dnsNames: [localhost]', 'dnsNames: [localhost'),
    /^YAML_INVALID: handover\.yaml:\d+:\d+: /,
  ],
  [(yaml: string) => yaml.replace('kind: Leaf', 'kind: Leef'), /^RESOURCE_INVALID: .*did you mean Leaf/],
])('mistake %# in handover.yaml is one line that says what to do', async (edit, says) => {
  await handover(['init', dir]);
  const file = join(dir, 'handover.yaml');
  writeFileSync(file, edit(readFileSync(file, 'utf8')));
  const ran = await handover(['run', dir, '--once']);
  expect(ran.code).toBe(1);
  expect(ran.stderr).toMatch(says);
  expect(ran.stderr).toMatch(ERROR_LINE);
});

test('an unknown authority or generation, a directory that others may write, and a clock that is behind are one line each', async () => {
  await begin();
  const home = ['--home', `dir:${dir}`];
  expect((await handover(['rotate', 'x/y', ...home])).stderr).toMatch(
    /^AUTHORITY_UNKNOWN: .*there is default\/internal\n$/,
  );
  expect((await handover(['distrust', 'internal', '--generation', '7', ...home])).stderr).toMatch(
    /^GENERATION_UNKNOWN: .*it has 1 \(current\)\n$/,
  );
  expect((await handover(['rotate', 'internal', '--id', 'a b', ...home])).stderr).toMatch(
    /^ROTATION_ID_INVALID: /,
  );
  expect((await handover(['run', dir, '--once'], at(-100_000))).stderr).toMatch(
    /^CLOCK_BEHIND: .*set the clock, or if it is right: handover clock --confirm --home dir:.*\n$/,
  );
  chmodSync(dir, 0o777);
  expect((await handover(['run', dir])).stderr).toMatch(/^HOME_WRITABLE_BY_OTHERS: /);
});

test('status --watch shows changes until it is stopped, and run ends when asked to', async () => {
  await begin((yaml) => yaml.replace('reloadWithin: 3m', 'reloadWithin: 0s'));
  const clock = new TestClock(NOW);
  const watching = goOn(['status', '--watch', '--json', '--home', `dir:${dir}`], { clock });
  const running = goOn(['run', dir], { clock });
  await clock.until(() => running.said().includes('ready: '));
  await turning(clock, handover(['rotate', 'internal', '--wait', '--home', `dir:${dir}`], { clock }));
  await clock.advance(1_000);
  const seen = watching.said().trim().split('\n');
  expect(seen.length).toBeGreaterThan(1);
  expect(JSON.parse(seen.at(-1) ?? '').authorities[0].generations).toMatchObject([{ generation: 2 }]);
  expect(await watching.stop()).toBe(0);
  expect(await running.stop()).toBe(0);
  expect(existsSync(join(dir, 'state/lock'))).toBe(false);
});
