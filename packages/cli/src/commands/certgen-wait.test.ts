import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { instant, minute } from '@handover/material';
import { temporaryFolder } from '@handover/test-api-server';
import { expect, onTestFinished, test } from 'vitest';
import { handover, NOW } from '../../test/capture.ts';

test('certgen --wait in a directory says Stable only when the old CA is gone, and gives up by name when it takes too long', async () => {
  const root = temporaryFolder({ inMemory: true });
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const file = join(root, 'mesh.yaml');
  const resource = (kind: string, name: string, spec: string): string =>
    `apiVersion: handover.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
  writeFileSync(
    file,
    `${resource('Authority', 'mesh', '{rotation: {reloadWithin: 1m}}')}---\n${resource('Leaf', 'web', '{authority: mesh, dnsNames: [web]}')}`,
  );
  const certgen = (minutes: number, ...args: readonly string[]) =>
    handover(['certgen', '-f', file, '--wait', '--json', ...args, '--home', `dir:${join(root, 'home')}`], {
      now: instant(NOW + minutes * minute),
    });
  expect(await certgen(0)).toMatchObject({ code: 0 });
  // The clock of these runs stands still: each gets as far as the evidence of its moment.
  const again = ['--rotation-id', 'a', '--timeout', '300ms'];
  for (const [minutes, phase] of [
    [0, 'Introducing'],
    [2, 'Activating'],
  ] as const) {
    const { code, stdout, stderr } = await certgen(minutes, ...again);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`waiting for default/mesh took too long: ${phase}: `);
    expect(stderr).toContain('"code":"ROTATION_UNFINISHED"');
  }
  const done = await certgen(4, ...again);
  expect(done.code).toBe(0);
  expect(JSON.parse(done.stdout).authorities).toMatchObject([
    { rotation: 'a', phase: 'Stable', blockedBy: [] },
  ]);
});
