import { type Kube, pods } from '@handover/kube';

/** Plays the kubelet of a cluster without nodes: every pod runs and is ready. Lists all pods that ever existed. */
export const playKubelet = (
  kube: Kube,
  namespace = 'default',
): { readonly seen: ReadonlyMap<string, string>; readonly stop: () => void } => {
  const seen = new Map<string, string>();
  const run = async (): Promise<void> => {
    const { items } = await kube.list(pods, { namespace });
    for (const { metadata, status } of items) {
      const { name = '', uid = '', deletionTimestamp } = metadata;
      seen.set(uid, name);
      if (deletionTimestamp !== undefined) continue;
      if ((status as { phase?: string } | undefined)?.phase === 'Running') continue;
      const lastTransitionTime = new Date().toISOString();
      const conditions = ['Ready', 'ContainersReady', 'PodScheduled', 'Initialized'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime,
      }));
      await kube.patch(
        pods,
        { namespace, name, subresource: 'status' },
        { merge: { status: { phase: 'Running', conditions } } },
      );
    }
  };
  const timer = setInterval(() => void run().catch(() => {}), 300);
  return { seen, stop: () => clearInterval(timer) };
};
