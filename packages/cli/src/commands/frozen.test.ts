import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { day, instant, minute } from '@handover/material';
import { beforeEach, expect, test } from 'vitest';
import { handover, NOW } from '../../test/capture.ts';
import { authority, homeWith, leaf } from '../../test/home.ts';

let dir: string;
const OTHER = 'other.yaml';
const otherAuthority = (spec = {}): string =>
  `${authority('other', spec)}---\n${leaf('other', { reload: '{command: ["true"]}' })}`;

const at = (ms: number, ...args: readonly string[]) =>
  handover([...args, '--home', `dir:${dir}`], { now: instant(NOW + ms) });
const pass = (ms = 0) => handover(['run', dir, '--once'], { now: instant(NOW + ms) });
const write = (name: string, text: string): void => writeFileSync(join(dir, name), text, { mode: 0o644 });
const certificate = (name: string): string =>
  readFileSync(join(dir, `out/default/secrets/${name}/tls.crt`), 'utf8');

beforeEach(async () => {
  dir = homeWith(authority('mine'), leaf('mine'));
  write(
    OTHER,
    otherAuthority({ consumers: '[{name: app, presents: true, verifies: true, reload: restart}]' }),
  );
  expect(await pass()).toMatchObject({ code: 0, stderr: '' });
});

test('a typo in one file is named with line and column, and other resources are renewed, also after a restart', async () => {
  write(OTHER, `${otherAuthority()}---\nkind: [`);
  const mine = certificate('mine');
  const ran = await pass(70 * day);
  expect(ran).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/YAML_INVALID: other\.yaml:\d+:\d+: /),
  });
  expect(certificate('mine')).not.toBe(mine);
});

test('a resource that is wrong stays as it was last declared: its consumers hold its rotation up as before', async () => {
  await at(minute, 'rotate', 'other', '--id', 'r1');
  write(
    OTHER,
    otherAuthority({
      consumers: '[{name: app, presents: true, verifies: true, reload: sometimes}]',
      lifetim: '1y',
    }),
  );
  for (const ms of [10, 20, 30]) await pass(ms * minute);
  const status = await at(30 * minute, 'status');
  expect(status.code).toBe(1);
  expect(status.stdout).toContain('waiting for app to restart with');
  expect(status.stdout).toMatch(
    /Authority default\/other: RESOURCE_INVALID: other\.yaml:4:\d+: Authority other: .*until then Authority default\/other stays as last declared/,
  );
  expect((await at(30 * minute, 'check')).stdout).toMatch(/^HANDOVER CRITICAL - .*other\.yaml:4:/);
  const { authorities } = JSON.parse((await at(30 * minute, 'status', '--json')).stdout);
  expect(authorities.map(({ name }: { readonly name: string }) => name)).toEqual(['mine', 'other']);
});

test.each([
  ['kind', (yaml: string) => yaml.replace('kind: Authority', 'kind: Authorty')],
  [
    'name, beside another mistake',
    (yaml: string) =>
      yaml.replace('name: other', 'name: othr').replace('reload: restart', 'reload: sometimes'),
  ],
])('a typo in the %s of a document does not make what it declared go', async (_, change) => {
  await at(minute, 'rotate', 'other', '--id', 'r1');
  write(
    OTHER,
    change(otherAuthority({ consumers: '[{name: app, presents: true, verifies: true, reload: restart}]' })),
  );
  for (const ms of [10, 20, 30]) await pass(ms * minute);
  const { stdout } = await at(30 * minute, 'status');
  expect(stdout).toContain('waiting for app to restart with');
  expect(stdout).toContain('Authority default/other stays as last declared');
});

test('every wrong document is named, not the first alone, and a new one that is wrong freezes nothing', async () => {
  write('b.yaml', `${leaf('x', { usages: '[sever]' })}---\n${leaf('y', { authority: '7' })}`);
  const { stdout } = await at(0, 'status');
  expect(stdout).toContain('Leaf default/x: RESOURCE_INVALID: b.yaml:4:');
  expect(stdout).toContain('Leaf default/y: RESOURCE_INVALID: b.yaml:9:');
  expect(stdout).toContain('nothing was declared there before that could stay');
  expect(await at(0, 'rotate', 'mine', '--id', 'r1', '--wait')).toMatchObject({ code: 0 });
});

test('where the record of what was declared is lost, no CA is activated or retired until the file is right', async () => {
  write('a.yaml', `${authority('mine', { rotation: '{reloadWithin: 5m}' })}---\n${leaf('mine')}`);
  await at(minute, 'rotate', 'mine', '--id', 'r1');
  write(OTHER, 'kind: [');
  rmSync(join(dir, 'state/declared.json'));
  for (const ms of [10, 20, 30]) await pass(ms * minute);
  const status = await at(30 * minute, 'status');
  expect(status.stdout).toMatch(/other\.yaml:1:\d+: .*no CA is activated or retired until it is corrected/);
  const { authorities } = JSON.parse((await at(30 * minute, 'status', '--json')).stdout);
  expect(authorities[0].generations).toHaveLength(2);
  expect(readdirSync(join(dir, 'state'))).not.toContain('declared.json');
  write(OTHER, otherAuthority());
  for (const ms of [40, 50, 60]) await pass(ms * minute);
  const after = JSON.parse((await at(60 * minute, 'status', '--json')).stdout);
  expect(after.authorities[0].generations).toHaveLength(1);
});

test('a directory on which nothing was ever made refuses a wrong file at once', async () => {
  dir = homeWith(authority('mine'), 'kind: [');
  expect(await pass()).toMatchObject({ code: 1, stderr: expect.stringMatching(/^YAML_INVALID: a\.yaml:/) });
});
