import { randomUUID } from 'node:crypto';
import { apiVersionOf } from '@handover/kube';
import { ApiFailure, badRequest, invalid } from './api-failure.ts';
import { type Asked, type Context, ok, type Reply, selectorOf, viewOf } from './context.ts';
import type { JsonObject } from './json.ts';
import { Watching } from './watching.ts';

export function list(context: Context, asked: Asked): Reply {
  const { request, store } = context;
  const { kind } = asked.served;
  const token = request.query.get('continue') ?? '';
  const snapshot =
    token === ''
      ? {
          version: store.history.version,
          rest: store.all(kind, asked.namespace).filter(selectorOf(context, asked)),
        }
      : store.snapshots.get(token);
  if (snapshot === undefined) throw badRequest('continue key is not valid');
  const { version, rest: objects } = snapshot;
  store.history.since(version); // 410 when the snapshot is older than the history
  const limit = Number(request.query.get('limit') ?? 0);
  const page = limit > 0 ? objects.slice(0, limit) : objects;
  const rest = objects.slice(page.length);
  const metadata: JsonObject = { resourceVersion: String(version) };
  if (rest.length > 0) {
    const next = randomUUID();
    store.snapshots.set(next, { version, rest });
    metadata.continue = next;
    metadata.remainingItemCount = rest.length;
  }
  const view = viewOf(context);
  const partial = view(page[0] ?? {}).kind === 'PartialObjectMetadata';
  return ok({
    kind: partial ? 'PartialObjectMetadataList' : `${kind.kind}List`,
    apiVersion: partial ? 'meta.k8s.io/v1' : apiVersionOf(kind),
    metadata,
    items: page.map(view),
  });
}

export function startWatch(context: Context, asked: Asked): undefined {
  const { request, store, response } = context;
  const { query } = request;
  const initial = query.get('sendInitialEvents') === 'true';
  if (initial && !context.streamingLists) {
    const why = 'Forbidden: sendInitialEvents is forbidden for watch';
    throw invalid('ListOptions', '', 'sendInitialEvents', why);
  }
  const version = query.get('resourceVersion') ?? '';
  const fromNow = version === '' || version === '0';
  const seconds = Number(query.get('timeoutSeconds') ?? 0);
  const watch = new Watching(response, store, {
    served: asked.served,
    namespace: asked.namespace,
    matches: selectorOf(context, asked),
    view: viewOf(context),
    from: fromNow || initial ? undefined : Number(version),
    initial: fromNow || initial,
    ended: initial,
    bookmarks: query.get('allowWatchBookmarks') === 'true',
    bookmarkMs: context.bookmarkMs,
    clock: context.clock,
    lifetimeMs: seconds > 0 ? seconds * 1000 : undefined,
  });
  try {
    watch.start();
  } catch (error) {
    if (!(error instanceof ApiFailure && error.status === 410)) throw error;
    // kube-apiserver refuses an old version inside the stream, after a 200.
    response.writeHead(200, { 'content-type': 'application/json' });
    watch.fail(error);
  }
  context.watching(watch);
  return undefined;
}
