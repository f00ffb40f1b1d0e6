import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AuthorityStatus } from '@handover/engine';
import { expect, test } from 'vitest';
import { ClusterWorld } from '../../test/cluster-world.ts';

const AUTHORITY = {
  apiVersion: 'handover.dev/v1alpha1',
  kind: 'Authority',
  metadata: { name: 'mesh', namespace: 'default' },
  spec: { rotation: { reloadWithin: '0s' } },
};

/** What the phase says of the roles of the generations. */
const expectOneAnswer = ({ phase, generations }: Pick<AuthorityStatus, 'phase' | 'generations'>): void => {
  const roles = generations.map(({ role }) => role).sort();
  if (phase === 'Stable') expect(roles).toEqual(['current']);
  if (phase === 'Introducing') expect(roles).toContain('next');
};

test('beside an operator, rotate --wait, certgen --wait, distrust and status --watch each say one thing about one moment', async () => {
  const world = await ClusterWorld.open();
  await world.authority('default/mesh', AUTHORITY.spec);
  world.operate('--log-level', 'error');
  const file = join(world.folder, 'mesh.yaml');
  writeFileSync(file, JSON.stringify(AUTHORITY));
  const ask = (...args: readonly string[]) => world.runs(...args);
  await world.soon(async () => expect((await ask('status')).stdout).toMatch(/^default\/mesh {2}Stable$/m));
  const watching = world.goesOn('status', '--watch', '--json');
  const { code, stdout } = await ask('rotate', 'default/mesh', '--id', 'a', '--wait', '--json');
  const answer = JSON.parse(stdout);
  expect({ code, ...answer }).toMatchObject({ code: 0, begun: true, done: true, phase: 'Stable' });
  expect(answer.generations).toMatchObject([{ generation: 2, role: 'current' }]);
  const again = await ask('rotate', 'default/mesh', '--id', 'a', '--wait');
  expect(again).toMatchObject({ code: 0, stdout: 'rotation a of default/mesh is complete\n' });
  const made = await ask('certgen', '-f', file, '--rotation-id', 'b', '--wait', '--json');
  expect(made.code).toBe(0);
  expect(JSON.parse(made.stdout).authorities).toMatchObject([
    { rotation: 'b', phase: 'Stable', blockedBy: [] },
  ]);
  const { authorities: after } = JSON.parse((await ask('status', '--json')).stdout);
  expect(after[0].generations).toMatchObject([{ generation: 3, role: 'current' }]);
  const distrusted = await ask('distrust', 'default/mesh', '--generation', '3', '--yes', '--json');
  expect(distrusted.code).toBe(0);
  const { authorities } = JSON.parse((await ask('status', '--json')).stdout);
  const roles = authorities[0].generations.map((one: { generation: number; role: string }) => [
    one.generation,
    one.role,
  ]);
  expect(JSON.parse(distrusted.stdout)).toMatchObject({ generation: 3, done: true });
  expect(roles).not.toContainEqual([3, 'current']);
  await world.soon(() => expect(watching.said()).toContain('"generation":4'));
  for (const line of watching.said().trim().split('\n')) expectOneAnswer(JSON.parse(line).authorities[0]);
});
