import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { apiVersionOf } from '../kinds.ts';
import { ApiFailure, badRequest, expired, invalid } from './api-failure.ts';
import { type ApiStore, type By, metaOf } from './api-store.ts';
import type { SeenRequest } from './faults.ts';
import { isObject, type Json, type JsonObject } from './json.ts';
import { fieldsOf, type ServedKind } from './known-kinds.ts';
import { jsonPatch, mergePatch, type PatchStep } from './patches.ts';
import { fieldSelector, labelSelector } from './selectors.ts';
import { Watching } from './watching.ts';

export interface Context {
  readonly request: SeenRequest;
  readonly body: string;
  readonly response: ServerResponse;
  readonly store: ApiStore;
  readonly bookmarkMs: number;
  readonly streamingLists: boolean;
  readonly watching: (watch: Watching) => void;
}

export interface Reply {
  readonly status: number;
  readonly body: object | string;
}

const ok = (body: object | string, status = 200): Reply => ({ status, body });

const PATH =
  /^\/(?:api\/(v1)|apis\/([^/]+)\/([^/]+))(?:\/namespaces\/([^/]+)(?=\/[^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/(.+))?$/;

/** Pages that were begun, by their token: of one moment, as the API's are. */
const snapshots = new WeakMap<ApiStore, Map<string, { version: number; rest: JsonObject[] }>>();

export function answer(context: Context): Reply | undefined {
  const { path } = context.request;
  if (path === '/readyz' || path === '/livez' || path === '/healthz') return ok('ok');
  if (path === '/version') return ok({ major: '1', minor: '36', gitVersion: 'v1.36.0-fake' });
  return discovery(context) ?? resource(context);
}

function discovery({ request: { path }, store }: Context): Reply | undefined {
  const [, core, group, version] = /^\/(?:api\/([^/]+)|apis\/([^/]+)\/([^/]+))$/.exec(path) ?? [];
  if (core === undefined && group === undefined) return undefined;
  const found = store
    .served()
    .filter(({ kind }) => kind.group === (group ?? '') && kind.version === (version ?? core));
  if (found.length === 0)
    throw new ApiFailure(404, 'NotFound', 'the server could not find the requested resource');
  const resources = found.flatMap(({ kind, hasStatus }) => [
    { name: kind.plural, kind: kind.kind, namespaced: kind.namespaced, singularName: '', verbs: [] },
    ...(hasStatus
      ? [
          {
            name: `${kind.plural}/status`,
            kind: kind.kind,
            namespaced: kind.namespaced,
            singularName: '',
            verbs: [],
          },
        ]
      : []),
  ]);
  const groupVersion = group === undefined ? core : `${group}/${version}`;
  return ok({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources });
}

interface Asked {
  readonly served: ServedKind;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string;
}

function parse({ request: { path }, store }: Context): Asked {
  const match = PATH.exec(path);
  if (match === null)
    throw new ApiFailure(404, 'NotFound', 'the server could not find the requested resource');
  const [, core, group, version, inNamespace, plural = '', rawName, subresource = ''] = match;
  const decoded = (text: string | undefined) => (text === undefined ? undefined : decodeURIComponent(text));
  // `/api/v1/namespaces/x` is a Namespace; `/api/v1/namespaces/x/secrets` is in one.
  const served = store.kind(group ?? '', version ?? core ?? '', plural);
  return { served, namespace: decoded(inNamespace), name: decoded(rawName), subresource };
}

function parsed(body: string): JsonObject {
  try {
    const value = JSON.parse(body) as Json;
    if (isObject(value)) return value;
  } catch {
    // told below
  }
  throw badRequest('the body of the request is no JSON object');
}

function resource(context: Context): Reply | undefined {
  const asked = parse(context);
  const { method, watch } = context.request;
  if (
    asked.served.kind.namespaced &&
    asked.namespace === undefined &&
    (asked.name !== undefined || method !== 'GET')
  ) {
    throw badRequest('an empty namespace may not be set');
  }
  if (asked.subresource !== '' && !(asked.subresource === 'status' && asked.served.hasStatus)) {
    throw new ApiFailure(404, 'NotFound', 'the server could not find the requested resource');
  }
  if (method === 'GET') {
    if (asked.name !== undefined) return ok(view(context)(context.store.get(asked.served, where(asked))));
    return watch ? startWatch(context, asked) : list(context, asked);
  }
  return write(context, asked);
}

const where = ({ namespace, name = '' }: Asked) => ({ namespace, name });

function write(context: Context, asked: Asked): Reply {
  const { request, store, body } = context;
  const { method, query, headers } = request;
  const by: By = {
    manager:
      query.get('fieldManager') || String(headers['user-agent'] ?? 'unknown').split('/')[0] || 'unknown',
    subresource: asked.subresource,
    dryRun: query.get('dryRun') === 'All',
  };
  const show = view(context);
  switch (method) {
    case 'POST': {
      const object = parsed(body);
      const inside = metaOf(object).namespace;
      if (inside !== undefined && inside !== asked.namespace) {
        throw badRequest(
          'the namespace of the provided object does not match the namespace sent on the request',
        );
      }
      mustBeOf(asked.served, object);
      return ok(show(store.create(asked.served, { namespace: asked.namespace, name: '' }, object, by)), 201);
    }
    case 'PUT': {
      const object = parsed(body);
      mustBeOf(asked.served, object);
      return ok(show(store.update(asked.served, where(asked), object, by)));
    }
    case 'PATCH':
      return ok(show(patch(context, asked, by)));
    case 'DELETE': {
      const options = body === '' ? {} : parsed(body);
      const preconditions = (options.preconditions ?? {}) as { uid?: string; resourceVersion?: string };
      const dryRun = by.dryRun || (Array.isArray(options.dryRun) && options.dryRun.includes('All'));
      const left = store.delete(asked.served, where(asked), preconditions, dryRun);
      return ok(left === undefined ? { kind: 'Status', apiVersion: 'v1', status: 'Success' } : show(left));
    }
    default:
      throw new ApiFailure(405, 'MethodNotAllowed', `${method} is not allowed here`);
  }
}

function mustBeOf({ kind }: ServedKind, object: JsonObject): void {
  if (object.kind !== undefined && (object.kind !== kind.kind || object.apiVersion !== apiVersionOf(kind))) {
    throw badRequest(`${String(object.kind)} in ${String(object.apiVersion)} does not fit ${kind.kind}`);
  }
}

function patch({ request, body, store }: Context, asked: Asked, by: By): JsonObject {
  const type = String(request.headers['content-type'] ?? '').split(';')[0];
  switch (type) {
    case 'application/apply-patch+yaml': {
      if (!request.query.get('fieldManager')) {
        throw invalid('PatchOptions', '', 'fieldManager', 'Required value: is required for apply patch');
      }
      const object = parsed(body);
      mustBeOf(asked.served, object);
      if (metaOf(object).name !== undefined && metaOf(object).name !== asked.name) {
        throw badRequest('the name of the object does not match the name on the URL');
      }
      if ((object.metadata as JsonObject | undefined)?.managedFields !== undefined) {
        throw badRequest('metadata.managedFields must be nil');
      }
      return store.apply(asked.served, where(asked), object, {
        ...by,
        force: request.query.get('force') === 'true',
      });
    }
    case 'application/merge-patch+json': {
      const merge = parsed(body);
      return store.patch(asked.served, where(asked), (object) => mergePatch(object, merge), by);
    }
    case 'application/json-patch+json': {
      let steps: unknown;
      try {
        steps = JSON.parse(body);
      } catch {
        steps = undefined;
      }
      if (!Array.isArray(steps)) throw badRequest('a JSON patch is a list');
      return store.patch(asked.served, where(asked), (object) => jsonPatch(object, steps as PatchStep[]), by);
    }
    default:
      throw new ApiFailure(
        415,
        'UnsupportedMediaType',
        `the body of the request was in an unknown format: ${type}`,
      );
  }
}

/** The object, or only its metadata, as the Accept header asks. */
function view({ request }: Context): (object: JsonObject) => JsonObject {
  const partial = /as=PartialObjectMetadata(List)?[;,]/.test(String(request.headers.accept ?? ''));
  return (object) =>
    partial
      ? { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata ?? {} }
      : object;
}

function selected({ request: { query } }: Context, { served }: Asked): (object: JsonObject) => boolean {
  const labels = labelSelector(query.get('labelSelector') ?? '');
  const fields = fieldSelector(query.get('fieldSelector') ?? '', fieldsOf(served.kind.plural));
  return (object) => labels(metaOf(object).labels ?? {}) && fields(object);
}

function list(context: Context, asked: Asked): Reply {
  const { request, store } = context;
  const { kind } = asked.served;
  const matches = selected(context, asked);
  const known = snapshots.get(store) ?? new Map<string, { version: number; rest: JsonObject[] }>();
  snapshots.set(store, known);
  const token = request.query.get('continue') ?? '';
  const limit = Number(request.query.get('limit') ?? 0);
  let version = Number(store.version);
  let objects: JsonObject[];
  if (token === '') objects = store.all(kind, asked.namespace).filter(matches);
  else {
    const snapshot = known.get(token);
    if (snapshot === undefined) throw badRequest('continue key is not valid');
    try {
      store.since(snapshot.version);
    } catch {
      throw expired(String(snapshot.version));
    }
    version = snapshot.version;
    objects = snapshot.rest;
  }
  const page = limit > 0 ? objects.slice(0, limit) : objects;
  const rest = objects.slice(page.length);
  const metadata: JsonObject = { resourceVersion: String(version) };
  if (rest.length > 0) {
    const next = randomUUID();
    known.set(next, { version, rest });
    metadata.continue = next;
    metadata.remainingItemCount = rest.length;
  }
  const show = view(context);
  const partial = show(page[0] ?? {}).kind === 'PartialObjectMetadata';
  return ok({
    kind: partial ? 'PartialObjectMetadataList' : `${kind.kind}List`,
    apiVersion: partial ? 'meta.k8s.io/v1' : apiVersionOf(kind),
    metadata,
    items: page.map(show),
  });
}

function startWatch(context: Context, asked: Asked): undefined {
  const { request, store, response } = context;
  const { query } = request;
  const initial = query.get('sendInitialEvents') === 'true';
  if (initial && !context.streamingLists) {
    throw invalid(
      'ListOptions',
      '',
      'sendInitialEvents',
      'Forbidden: sendInitialEvents is forbidden for watch',
    );
  }
  const version = query.get('resourceVersion') ?? '';
  const seconds = Number(query.get('timeoutSeconds') ?? 0);
  const watch = new Watching(response, store, {
    served: asked.served,
    namespace: asked.namespace,
    matches: selected(context, asked),
    view: view(context),
    from: version === '' || version === '0' || initial ? undefined : Number(version),
    initial: initial || version === '' || version === '0',
    ended: initial,
    bookmarks: query.get('allowWatchBookmarks') === 'true',
    bookmarkMs: context.bookmarkMs,
    lifetimeMs: seconds > 0 ? seconds * 1000 : undefined,
  });
  // The real server refuses an old version inside the stream, after a 200.
  try {
    watch.start();
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    if (error.status !== 410) throw error;
    response.writeHead(200, { 'content-type': 'application/json' });
    watch.fail(error);
  }
  context.watching(watch);
  return undefined;
}
