import type { ControllerEvent } from '@handover/engine';
import { configMaps } from '@handover/kube';
import { expect } from 'vitest';
import type { BundleWorld, Scene } from './world.ts';

/** A world in which Handover keeps Bundles, with Secrets allowed as targets. */
export interface OwnWorld extends BundleWorld {
  /** File of `--default-cas`. */
  readonly defaultCas: string;
  readonly events: readonly ControllerEvent[];
}

export interface OwnCase {
  readonly name: string;
  readonly run: (scene: Scene, world: OwnWorld) => Promise<void>;
}

export const failsWith = async (scene: Scene, reason: string, ...words: readonly string[]): Promise<void> => {
  const condition = await scene.until(`Synced=False, ${reason}`, async () => {
    const found = await scene.condition();
    return found?.status === 'False' && found.reason === reason && found;
  });
  for (const word of words) expect(condition.message).toContain(word);
};

export const put = async (
  { kube }: BundleWorld,
  namespace: string,
  name: string,
  data: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> => {
  await kube.create(
    configMaps,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels }, data },
    { namespace, fieldManager: 'a-person' },
  );
};
