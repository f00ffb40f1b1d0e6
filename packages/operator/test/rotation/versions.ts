import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { resource, until } from '../cluster/stage.ts';
import { operatorImage } from './image.ts';
import { documented } from './install-doc.ts';
import { NAMESPACE } from './mesh.ts';
import { LONG, type MeshStage, say } from './mesh-stage.ts';
import { olderHandover } from './older.ts';
import { leadingImage, operatorPods, output } from './operator-pods.ts';
import type { RotationStage } from './stage.ts';

/** A version of Handover: its image, and how to call its `handover`. */
export interface Version {
  readonly image: string;
  readonly program: string;
}

/** The version before this one, and this one. */
export interface Versions {
  readonly older: Version;
  readonly newer: Version;
}

export const loadVersions = async ({ cluster: { node } }: RotationStage): Promise<Versions> => {
  const previous = await olderHandover(say);
  const image = await node.loadImage({
    name: 'localhost/handover:older',
    files: { '/handover': previous },
    entrypoint: ['node', '/handover/dist/main.mjs'],
  });
  const newer = await operatorImage('localhost/handover:newer');
  return {
    older: { image, program: join(previous, 'dist/main.mjs') },
    newer: { image: await node.loadImage(newer), program: newer.program },
  };
};

/** `handover install | kubectl apply -f -`, and `handover uninstall | kubectl delete -f -`. */
export const kubectl = async (
  { cluster }: RotationStage,
  version: Version,
  command: 'install' | 'uninstall',
): Promise<void> => {
  const file = join(cluster.directory, `${command}.yaml`);
  writeFileSync(file, await output(process.execPath, version.program, command, '--image', version.image));
  if (command === 'install') await cluster.kubectl('apply', '-f', file);
  else await cluster.kubectl('delete', '--ignore-not-found', '-f', file);
};

export const rolledOut = ({ cluster }: RotationStage): Promise<string> =>
  cluster.kubectl(...documented('kubectl -n handover-system rollout'), '--timeout=600s');

export const noOperator = ({ kube }: RotationStage): Promise<unknown> =>
  until(async () => (await operatorPods(kube)).length === 0, 'the last pod of the operator to go', LONG);

export const atRest = (mesh: MeshStage, generation: number): Promise<unknown> =>
  until(
    async () => {
      const { phase, generations } = await mesh.status();
      return phase === 'Stable' && generations.length === 1 && generations[0]?.generation === generation;
    },
    `generation ${generation} alone`,
    LONG,
  );

export const inMidRotation = async (mesh: MeshStage, id: string): Promise<void> => {
  await mesh.ask(id);
  await until(async () => (await mesh.status()).phase !== 'Stable', 'the rotation to begin', LONG);
};

/** The older version leads, and starts the second generation; the newer one takes over in the middle of it. */
export const upgradeInMidRotation = async (mesh: MeshStage, { older, newer }: Versions): Promise<void> => {
  const { stage } = mesh;
  const setPaused = (paused: boolean): Promise<void> =>
    stage.cluster.apply(resource('Authority', 'mesh', { rotation: { paused } }, NAMESPACE));
  await atRest(mesh, 1);
  expect(await leadingImage(stage.kube)).toBe(older.image);
  const traffic = await mesh.during('upgrade in mid-rotation', async () => {
    await inMidRotation(mesh, 'begun-by-older');
    await setPaused(true);
    await kubectl(stage, newer, 'install');
    const beside = await until(
      async () => {
        const live = (await operatorPods(stage.kube)).filter(({ ready, leaving }) => ready && !leaving);
        return new Set(live.map(({ image }) => image)).size === 2 ? live : undefined;
      },
      'both versions ready beside each other',
      LONG,
    );
    say(`  beside each other: ${beside.map(({ image }) => image).join(', ')}`);
    await rolledOut(stage);
    await until(async () => (await leadingImage(stage.kube)) === newer.image, 'this version to lead', LONG);
    expect((await mesh.status()).phase).not.toBe('Stable');
    await setPaused(false);
    await atRest(mesh, 2);
  });
  expect(traffic.failed).toBe(0);
  expect(traffic.silent).toEqual([]);
};
