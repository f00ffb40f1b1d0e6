import { openView, type View } from '@handover/operator';
import { connectKube, ownNamespace } from './connect.ts';
import type { KubeFlags } from './flags.ts';

/** The limit for the first answer of the cluster. */
const PATIENCE_MS = 30_000;

export async function openCluster(
  flags: KubeFlags & { readonly operatorNamespace?: string },
): Promise<{ readonly view: View; readonly close: () => void }> {
  const end = new AbortController();
  try {
    const { kube } = await connectKube(flags, end.signal);
    // Watches retry without end; a command has to fail when the API server does not answer.
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
