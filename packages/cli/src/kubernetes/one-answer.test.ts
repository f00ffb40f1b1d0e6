import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuthorityStatus } from '@handover/engine';
import { connect, type KubeObject, namespaces } from '@handover/kube';
import { instant } from '@handover/material';
import { RESOURCE_KINDS } from '@handover/operator';
import { FakeApiServer } from '@handover/test-api-server';
import { expect, onTestFinished, test, vi } from 'vitest';
import { handover } from '../../test/capture.ts';
import { goOn } from '../../test/live.ts';

const AUTHORITY = {
  apiVersion: 'handover.dev/v1alpha1',
  kind: 'Authority',
  metadata: { name: 'mesh', namespace: 'default' },
  spec: { rotation: { reloadWithin: '0s' } },
};

const started = async (): Promise<{ readonly home: readonly string[]; readonly file: string }> => {
  const root = mkdtempSync(join(tmpdir(), 'handover-one-answer-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const server = await FakeApiServer.start();
  onTestFinished(() => server.stop());
  for (const kind of Object.values(RESOURCE_KINDS)) server.serve(kind);
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const kube = connect(server.config, { signal: end.signal });
  const kubeconfig = join(root, 'kubeconfig');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'x', cluster: { server: server.url } }],
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
      users: [{ name: 'x', user: {} }],
      'current-context': 'x',
    }),
  );
  await kube
    .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } })
    .catch(() => {});
  await kube.create(RESOURCE_KINDS.Authority, AUTHORITY as KubeObject);
  goOn([
    ...['operator', '--kubeconfig', kubeconfig, '--namespace', 'default'],
    ...['--health-address', '127.0.0.1:0', '--dashboard-address', '0', '--log-level', 'error'],
  ]);
  const file = join(root, 'mesh.yaml');
  writeFileSync(file, JSON.stringify(AUTHORITY));
  return { home: ['--home', 'kube', '--kubeconfig', kubeconfig, '--operator-namespace', 'default'], file };
};

/** What the phase says of the roles of the generations. */
const expectOneAnswer = ({ phase, generations }: Pick<AuthorityStatus, 'phase' | 'generations'>): void => {
  const roles = generations.map(({ role }) => role).sort();
  if (phase === 'Stable') expect(roles).toEqual(['current']);
  if (phase === 'Introducing') expect(roles).toContain('next');
};

test('beside an operator, rotate --wait, certgen --wait, distrust and status --watch each say one thing about one moment', async () => {
  const { home, file } = await started();
  const now = instant(Date.now());
  const ask = (...args: readonly string[]) => handover([...args, ...home], { now });
  await vi.waitFor(async () => expect((await ask('status')).stdout).toMatch(/^default\/mesh {2}Stable$/m), {
    timeout: 60_000,
    interval: 200,
  });
  const watching = goOn(['status', '--watch', '--json', ...home]);
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
  await vi.waitFor(() => expect(watching.said()).toContain('"generation":4'), { timeout: 30_000 });
  for (const line of watching.said().trim().split('\n')) expectOneAnswer(JSON.parse(line).authorities[0]);
});
