import type { PlatformFacts } from '@handover/engine';
import type { Kube } from '@handover/kube';
import { HandoverError } from '@handover/material';
import { CLUSTER_VERSIONS } from '../home/openshift.ts';
import { isMap } from '../json.ts';

const versionIn = (body: string): string => {
  try {
    const answer: unknown = JSON.parse(body);
    if (isMap(answer) && typeof answer.gitVersion === 'string' && answer.gitVersion !== '')
      return answer.gitVersion;
  } catch {
    // Said below.
  }
  throw new HandoverError('PLATFORM_UNKNOWN', 'the API server does not say its version; it is asked again', {
    retry: 'later',
  });
};

/** Nobody but OpenShift has a ClusterVersion; whether it may be read as well is another matter. */
async function openShiftVersion(kube: Kube, signal: AbortSignal): Promise<string | undefined> {
  try {
    const found = await kube.get(CLUSTER_VERSIONS, { name: 'version' }, { signal });
    const desired = isMap(found?.status) ? found.status.desired : undefined;
    const version = isMap(desired) ? desired.version : undefined;
    return typeof version === 'string' && version !== '' ? version : undefined;
  } catch (error) {
    if (error instanceof HandoverError && error.code === 'KUBE_FORBIDDEN') return undefined;
    throw error;
  }
}

/** Which platform this is. Nothing is guessed: without an answer it throws. */
export async function readPlatform(kube: Kube, signal: AbortSignal): Promise<PlatformFacts> {
  const { group, version, plural } = CLUSTER_VERSIONS;
  const openShift = await kube.serves(group, version, plural, { signal });
  const { body } = await kube.raw('GET', '/version', { signal });
  return {
    platform: openShift ? 'openshift' : 'kubernetes',
    kubernetesVersion: versionIn(body),
    openShiftVersion: openShift ? await openShiftVersion(kube, signal) : undefined,
  };
}
