import { parseAnswer, subjectOf } from './answer.ts';
import { isCode } from './error.ts';
import type { ResourceKind } from './kinds.ts';
import { METADATA_LIST } from './media.ts';
import type { KubeObject } from './object.ts';
import { pathOf, withQuery } from './path.ts';
import type { CallOptions, List, ListRequest } from './requests.ts';
import type { Session } from './session.ts';

const PAGE = 500;

interface RawList<T> {
  readonly items?: readonly T[] | null;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
}

/** Pages of one moment. A page that is too large is read again at half the size. */
export async function* pagesOf<T extends KubeObject>(
  session: Session,
  kind: ResourceKind<T>,
  which: ListRequest,
  { signal, timeout }: CallOptions,
): AsyncGenerator<List<T>, void, undefined> {
  const path = pathOf(kind, { namespace: which.namespace });
  let limit = which.limit ?? PAGE;
  let next: string | undefined;
  for (;;) {
    const query = {
      labelSelector: which.labelSelector,
      fieldSelector: which.fieldSelector,
      limit: limit > 0 ? limit : undefined,
      continue: next,
      // From the second page on, the continue token holds the version.
      resourceVersion: next === undefined ? which.resourceVersion : undefined,
    };
    let list: RawList<T>;
    try {
      const reply = await session.send({
        subject: subjectOf('list', kind, { namespace: which.namespace }),
        method: 'GET',
        path: withQuery(path, query),
        accept: which.metadataOnly === true ? METADATA_LIST : undefined,
        signal,
        timeout,
      });
      list = parseAnswer<RawList<T>>(reply, `GET ${path}`);
    } catch (error) {
      if (!isCode(error, 'KUBE_TOO_LARGE') || limit === 1) throw error;
      limit = Math.max(1, Math.floor((limit || PAGE) / 2));
      continue;
    }
    const { metadata = {} } = list;
    next = metadata.continue === '' ? undefined : metadata.continue;
    yield { items: list.items ?? [], resourceVersion: metadata.resourceVersion ?? '' };
    if (next === undefined) return;
  }
}
