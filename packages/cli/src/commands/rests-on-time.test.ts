import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { instant, minute } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { handover, NOW, type Ran } from '../../test/capture.ts';

const resource = (kind: string, name: string, spec: string): string =>
  `apiVersion: handover.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
/** One server that shows nothing, and a Leaf without a declared consumer. */
const MESH = [
  resource(
    'Authority',
    'mesh',
    '{rotation: {reloadWithin: 1m}, consumers: [{name: db, presents: true, verifies: true, leaf: web}]}',
  ),
  resource('Leaf', 'web', '{authority: mesh, dnsNames: [web]}'),
  resource('Leaf', 'spare', '{authority: mesh, dnsNames: [spare]}'),
].join('---\n');
const DB = 'rests on reloadWithin (1 min): db (nothing shows what it has loaded)';
const SPARE = 'servers that present default/secrets/spare';

let root: string;
beforeEach(() => {
  root = temporaryFolder({ inMemory: true });
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, 'mesh.yaml'), MESH);
});
const on = (minutes: number, command: string, ...args: readonly string[]): Promise<Ran> =>
  handover([command, '-f', join(root, 'mesh.yaml'), ...args, '--home', `dir:${join(root, 'home')}`], {
    now: instant(NOW + minutes * minute),
  });

test('before a rotation, status and plan name the consumers for which time counts as evidence; during one also Leaves without a declared consumer', async () => {
  await on(0, 'certgen');
  for (const [command, line] of [
    ['status', `  ${DB}`],
    ['plan', `default/mesh: R${DB.slice(1)}.`],
  ] as const) {
    const { stdout } = await on(0, command);
    expect(stdout.split('\n')).toContain(line);
    expect(stdout).not.toContain(SPARE);
  }
  const { restsOnTime } = JSON.parse((await on(0, 'plan', '--json')).stdout).plans[0];
  expect(restsOnTime).toContainEqual({ consumer: 'db', unseen: ['trust', 'leaf'], withinSeconds: 60 });
  expect(restsOnTime).toContainEqual({
    consumer: SPARE,
    unseen: ['leaf'],
    withinSeconds: 60,
    undeclared: true,
  });
  expect(JSON.parse((await on(0, 'status', '--json')).stdout).authorities[0].restsOnTime).toEqual(
    restsOnTime,
  );
  await on(0, 'certgen', '--rotation-id', 'a');
  expect((await on(0, 'status')).stdout).toContain(SPARE);
  expect((await on(0, 'plan')).stdout).toContain(SPARE);
});

test('certgen says it when a rotation begins, above its result, and not when the rotation goes on', async () => {
  expect((await on(0, 'certgen')).stdout).toMatch(/^3 objects written\n/);
  const begun = await on(1, 'certgen', '--rotation-id', 'a');
  expect(begun.stderr).toBe('');
  expect(begun.stdout.split('\n')[0]).toBe(`default/mesh: ${DB}`);
  expect(begun.stdout).toMatch(/default\/mesh: .*\n\d objects written\ndefault\/mesh: Introducing/);
  expect(begun.stdout).toContain(SPARE);
  expect((await on(1, 'certgen', '--rotation-id', 'a')).stdout).toMatch(/^0 objects written\n/);
  const json = await on(1, 'certgen', '--rotation-id', 'a', '--json');
  expect(JSON.parse(json.stdout).authorities[0]).toMatchObject({
    restsOnTime: [{ consumer: 'db' }, { undeclared: true }, { undeclared: true }],
    willInterrupt: [],
  });
});
