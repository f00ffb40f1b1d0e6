import { randomUUID } from 'node:crypto';
import { type ConfigMap, configMaps, type Kube, type KubeConfig, namespaces } from '@handover/kube';
import type { TestClock } from '../src/test-clock.ts';

export interface ContractServer {
  /** Of a server that does not go by this machine's. */
  readonly clock?: TestClock;
  readonly config: KubeConfig;
  /** Makes the server forget past changes. The objects stay. */
  forget(): Promise<void>;
  stop(): Promise<void>;
}

export const MANAGER = 'contract';

/** What one test works with: the server, and a namespace of its own. */
export async function sceneOn(server: ContractServer, kube: Kube, signal: AbortSignal) {
  const namespace = `contract-${randomUUID().slice(0, 8)}`;
  await kube.create(namespaces, { metadata: { name: namespace } });
  const configMap = (
    name: string,
    data: Record<string, string> = {},
    labels: Record<string, string> = {},
  ): ConfigMap => ({ metadata: { name, namespace, labels }, data });
  return {
    server,
    kube,
    signal,
    namespace,
    configMap,
    make: (name: string, data?: Record<string, string>, labels?: Record<string, string>) =>
      kube.create(configMaps, configMap(name, data, labels), { fieldManager: MANAGER }),
    read: (name: string) => kube.get(configMaps, { namespace, name }),
  };
}

export type Scene = Awaited<ReturnType<typeof sceneOn>>;
