import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { day, instant } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { beforeEach, describe, expect, test } from 'vitest';
import { handover, NOW, type Ran } from '../../test/capture.ts';

const root = temporaryFolder({ inMemory: true });
let count = 0;
let dir: string;
beforeEach(async () => {
  dir = join(root, `home-${++count}`);
  await handover(['init', dir]);
});
const edit = (how: (yaml: string) => string): void => {
  const file = join(dir, 'handover.yaml');
  const before = readFileSync(file, 'utf8');
  const after = how(before);
  expect(after).not.toBe(before);
  writeFileSync(file, after);
};
const within = (ms: number, command: string, ...args: readonly string[]): Promise<Ran> =>
  handover([command, ...args, '--home', `dir:${dir}`], { now: instant(NOW + ms) });
const once = (ms = 0): Promise<Ran> => handover(['run', dir, '--once'], { now: instant(NOW + ms) });

/** Each command says so, in its way. */
const expectSaid = async (said: string): Promise<void> => {
  const text = expect.stringContaining(said);
  expect(await within(0, 'check')).toMatchObject({ code: 2, stdout: text });
  for (const command of ['verify', 'status'])
    expect(await within(0, command)).toMatchObject({ code: 1, stdout: text });
  expect(await once()).toMatchObject({ code: 1, stderr: text });
};
const certgen = (): Promise<Ran> => {
  const file = join(root, `given-${count}.yaml`);
  cpSync(join(dir, 'handover.yaml'), file);
  return handover(['certgen', '-f', file, '--home', `dir:${join(root, `made-${count}`)}`]);
};

describe('a resource that gets nothing', () => {
  const LOST =
    'Leaf default/web: AUTHORITY_UNKNOWN: spec.authority interal is not declared, so that no certificate is issued; ';

  test('a Leaf with a misspelt Authority is named, and no command exits 0', async () => {
    edit((yaml) => yaml.replace('authority: internal', 'authority: interal'));
    await expectSaid(`${LOST}name one of: default/internal`);
    expect(await within(0, 'check')).toMatchObject({ stdout: expect.stringContaining('authorities=1 ') });
    expect(await certgen()).toMatchObject({ code: 1, stderr: expect.stringContaining(LOST) });
    const { stdout } = await within(0, 'status');
    expect(stdout.split(LOST)).toHaveLength(2);
  });

  test('a Leaf alone in its file is named, and no command exits 0', async () => {
    edit((yaml) => `---\n${yaml.split(/^---$/m).find((one) => one.includes('kind: Leaf'))}`);
    await expectSaid(
      'Leaf default/web: AUTHORITY_UNKNOWN: spec.authority internal is not declared, so that no certificate is issued; declare one',
    );
  });

  test('a Leaf that its Authority refuses is named, and no command exits 0', async () => {
    edit((yaml) => yaml.replace(/^spec:\n/m, 'spec:\n  issueTo: {dnsNames: [foo.example]}\n'));
    await expectSaid('authority default/internal refuses it: ');
    expect(await certgen()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'RUN_INCOMPLETE: Leaf default/web: authority default/internal refuses it',
      ),
    });
  });

  test('a Leaf that names another Authority than the one that made its Secret stays as it is, is named, and no command exits 0', async () => {
    await once();
    const files = (): readonly string[] =>
      ['tls.crt', 'tls.key', 'ca.crt'].map((name) =>
        readFileSync(join(dir, 'out/default/secrets/web', name), 'utf8'),
      );
    const before = files();
    edit(
      (yaml) =>
        `${yaml.replace('authority: internal', 'authority: other')}\n---\napiVersion: handover.dev/v1alpha1\nkind: Authority\nmetadata: {name: other}\nspec: {lifetime: 1y}\n`,
    );
    await expectSaid('LEAF_MOVED: its Secret holds a certificate of Authority default/internal, ');
    expect(files()).toEqual(before);
    expect(await within(0, 'plan')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('default/other: Leaf default/web: LEAF_MOVED: '),
    });
    const { stdout } = await within(0, 'plan', '--json');
    expect(JSON.parse(stdout).plans).toMatchObject([
      { authority: 'default/internal', refused: [] },
      { authority: 'default/other', refused: [{ leaf: 'default/web' }] },
    ]);
    rmSync(join(dir, 'out/default/secrets/web'), { recursive: true });
    expect(await once()).toMatchObject({ code: 0 });
    expect(files()).not.toEqual(before);
  });

  test('a TrustBundle with a misspelt source is named, and no command exits 0', async () => {
    edit(
      (yaml) => `${yaml}
---
apiVersion: handover.dev/v1alpha1
kind: TrustBundle
metadata: {name: wide}
spec:
  sources: [{authority: default/internal}, {authority: far/away}]
  targets: [{configMap: {name: wide}}]
`,
    );
    await expectSaid(
      'TrustBundle wide: AUTHORITY_UNKNOWN: spec.sources[1].authority far/away is not declared',
    );
  });

  test('a consumer with a misspelt Leaf is named, counts its Authority once, and no command exits 0', async () => {
    edit((yaml) =>
      yaml.replace(/^spec:\n/m, 'spec:\n  consumers: [{name: w, presents: true, leaf: nope}]\n'),
    );
    await once();
    const text = expect.stringContaining('spec.consumers[0].leaf nope is no Leaf of this Authority');
    expect(await within(0, 'check')).toMatchObject({ code: 2, stdout: text });
    expect(await within(0, 'check', 'default/internal')).toMatchObject({ code: 2, stdout: text });
    expect((await within(0, 'check')).stdout).toContain('authorities=1 leaves=1 findings=1');
    for (const command of ['verify', 'status'])
      expect(await within(0, command)).toMatchObject({ code: 1, stdout: text });
  });
});

describe('a state from an old backup', () => {
  beforeEach(async () => {
    expect(await once()).toMatchObject({ code: 0 });
    const kept = `${dir}-state`;
    cpSync(join(dir, 'state'), kept, { recursive: true });
    expect(await within(day, 'rotate', 'internal', '--id', 'one')).toMatchObject({ code: 0 });
    rmSync(join(dir, 'state'), { recursive: true });
    cpSync(kept, join(dir, 'state'), { recursive: true });
  });

  test('run --once fails with a state from an old backup, and says that it is older than the objects', async () => {
    expect(await once(2 * day)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^RUN_INCOMPLETE: Authority default\/internal: its state is older than /m,
      ),
    });
  });

  test('rotate fails with a state from an old backup: no later pass could begin the rotation', async () => {
    expect(await within(2 * day, 'rotate', 'internal', '--id', 'two')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^RUN_INCOMPLETE: rotation two of default\/internal is requested and cannot begin: /m,
      ),
    });
  });
});

test('run --once fails over expired certificates while the clock is in doubt', async () => {
  const up = 1_000_000_000;
  const ran = (ms: number) => handover(['run', dir, '--once'], { now: instant(NOW + ms), sinceBoot: up });
  expect(await ran(0)).toMatchObject({ code: 0 });
  expect(await ran(20_000 * day)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^RUN_INCOMPLETE: Authority default\/internal: .* expired at /m),
  });
});

describe('a damaged output', () => {
  beforeEach(async () => {
    edit((yaml) =>
      yaml.replace(
        'authority: internal',
        'authority: internal\n  outputs: [{name: web.pem, format: combined, file: {path: etc/web.pem}}, {name: web.p12, format: pkcs12, passwordFrom: {file: password}}]',
      ),
    );
    mkdirSync(join(dir, 'etc'));
    writeFileSync(join(dir, 'password'), 'correct horse\n', { mode: 0o600 });
    expect(await once()).toMatchObject({ code: 0 });
  });

  test('status fails over a damaged keystore', async () => {
    expect(await within(0, 'status')).toMatchObject({ code: 0 });
    writeFileSync(join(dir, 'out/default/secrets/web/..data/web.p12'), 'junk');
    expect(await within(0, 'status')).toMatchObject({ code: 1, stdout: expect.stringContaining('web.p12') });
  });

  test('status fails over a missing copy of a file', async () => {
    expect(await within(0, 'status')).toMatchObject({ code: 0 });
    rmSync(join(dir, 'etc/web.pem'));
    expect(await within(0, 'status')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('etc/web.pem'),
    });
  });
});

test('distrust says that a reload hook failed', async () => {
  edit((yaml) => yaml.replace('authority: internal', 'authority: internal\n  reload: {command: ["false"]}'));
  await once();
  expect(await within(day, 'distrust', 'internal', '--generation', '1', '--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/is distrusted\n.*hook of Leaf default\/web failed/i),
  });
});
