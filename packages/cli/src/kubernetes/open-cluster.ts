import { openView, type View } from '@handover/operator';
import { connectKube, ownNamespace } from './connect.ts';
import type { KubeFlags } from './flags.ts';

/** Longer than this without the first look at the cluster, and somebody should be told why. */
const PATIENCE_MS = 30_000;

export async function openCluster(
  flags: KubeFlags & { readonly operatorNamespace?: string },
): Promise<{ readonly view: View; readonly close: () => void }> {
  const end = new AbortController();
  try {
    const { kube } = await connectKube(flags, end.signal);
    // Watches try for ever; a person at a terminal wants to know that nobody answers.
    await kube.raw('GET', '/version', { timeout: PATIENCE_MS });
    const view = await openView({
      kube,
      namespace: ownNamespace(flags.operatorNamespace),
      signal: end.signal,
    });
    return { view, close: () => end.abort() };
  } catch (error) {
    end.abort();
    throw error;
  }
}
