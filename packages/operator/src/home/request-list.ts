import type { AuthorityId } from '@handover/engine';
import type { Kube, KubeObject } from '@handover/kube';
import { isCode } from '../error.ts';
import { FIELD_MANAGER } from '../objects/record.ts';
import { RESOURCE_KINDS } from '../resources/declared.ts';

/** Requests that were carried out stay for a while, so that users see what was asked for. */
const MOST_KEPT = 5;

/** Adds a request to the known ones. It pushes out only requests that were taken up. */
export const withRequest = (
  known: readonly string[],
  wish: string,
  isTaken: (wish: string) => boolean,
): readonly string[] => {
  let surplus = known.length + 1 - MOST_KEPT;
  const kept = known.filter((item) => !isTaken(item) || surplus-- <= 0);
  return [...kept, wish];
};

const MOST_TRIES = 5;

/** Changes a list of requests in an annotation of an Authority, on the version that was read. `change`: undefined leaves it as it is. */
export const changeRequests = async (
  kube: Kube,
  id: AuthorityId,
  annotation: string,
  change: (known: readonly string[], authority: KubeObject | undefined) => readonly string[] | undefined,
  signal: AbortSignal,
): Promise<void> => {
  const [namespace = '', name = ''] = id.split('/');
  const which = { namespace, name };
  for (let tries = 1; ; tries++) {
    const found = await kube.get(RESOURCE_KINDS.Authority, which, { signal });
    const known = (found?.metadata.annotations?.[annotation] ?? '').split(',').filter((one) => one !== '');
    const wanted = change(known, found);
    if (wanted === undefined) return;
    const { resourceVersion } = found?.metadata ?? {};
    // An empty list goes: the annotation is removed.
    const annotations = { [annotation]: wanted.length === 0 ? null : wanted.join(',') };
    try {
      await kube.patch(RESOURCE_KINDS.Authority, which, {
        merge: { metadata: { resourceVersion, annotations } },
        fieldManager: `${FIELD_MANAGER}-cli`,
        signal,
      });
      return;
    } catch (error) {
      if (tries === MOST_TRIES || !isCode(error, 'KUBE_CONFLICT')) throw error;
    }
  }
};

/** The list without the rotations that have not begun, and those; the list is undefined where there are none. */
export const withoutQueued = (
  known: readonly string[],
  hasBegun: (id: string) => boolean,
): { readonly wanted: readonly string[] | undefined; readonly dropped: readonly string[] } => {
  const dropped = known.filter((one) => !hasBegun(one));
  return { wanted: dropped.length === 0 ? undefined : known.filter(hasBegun), dropped };
};
