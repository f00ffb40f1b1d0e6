import { apiVersionOf } from '@handover/kube';
import { ApiFailure, badRequest, invalid } from './api-failure.ts';
import type { By } from './api-store.ts';
import { type Asked, type Context, ok, type Reply, viewOf, whereOf } from './context.ts';
import { isObject, type JsonObject, parseJson } from './json.ts';
import type { ServedKind } from './known-kinds.ts';
import { jsonPatch, mergePatch, type PatchStep } from './patches.ts';
import { metaOf } from './versions.ts';

export function write(context: Context, asked: Asked): Reply {
  const { request, store, body } = context;
  const { method, query, headers } = request;
  const by: By = {
    manager:
      query.get('fieldManager') || String(headers['user-agent'] ?? 'unknown').split('/')[0] || 'unknown',
    subresource: asked.subresource,
    dryRun: query.get('dryRun') === 'All',
  };
  const view = viewOf(context);
  switch (method) {
    case 'POST': {
      const object = objectIn(body, asked.served);
      const inside = metaOf(object).namespace;
      if (inside !== undefined && inside !== asked.namespace) {
        throw badRequest(
          'the namespace of the provided object does not match the namespace sent on the request',
        );
      }
      return ok(view(store.create(asked.served, { namespace: asked.namespace, name: '' }, object, by)), 201);
    }
    case 'PUT':
      return ok(view(store.update(asked.served, whereOf(asked), objectIn(body, asked.served), by)));
    case 'PATCH':
      return ok(view(patch(context, asked, by)));
    case 'DELETE': {
      const options = body === '' ? {} : parsed(body);
      const preconditions = (options.preconditions ?? {}) as { uid?: string; resourceVersion?: string };
      const dryRun = by.dryRun || (Array.isArray(options.dryRun) && options.dryRun.includes('All'));
      const left = store.delete(asked.served, whereOf(asked), preconditions, dryRun);
      return ok(left === undefined ? { kind: 'Status', apiVersion: 'v1', status: 'Success' } : view(left));
    }
    default:
      throw new ApiFailure(405, 'MethodNotAllowed', `${method} is not allowed here`);
  }
}

function parsed(body: string): JsonObject {
  const value = parseJson(body);
  if (!isObject(value)) throw badRequest('the request body is not a JSON object');
  return value;
}

/** The body as an object of this kind. */
function objectIn(body: string, { kind }: ServedKind): JsonObject {
  const object = parsed(body);
  if (object.kind !== undefined && (object.kind !== kind.kind || object.apiVersion !== apiVersionOf(kind))) {
    throw badRequest(`${String(object.kind)} in ${String(object.apiVersion)} does not fit ${kind.kind}`);
  }
  return object;
}

function patch({ request, body, store }: Context, asked: Asked, by: By): JsonObject {
  const type = String(request.headers['content-type'] ?? '').split(';')[0];
  const where = whereOf(asked);
  switch (type) {
    case 'application/apply-patch+yaml': {
      if (!request.query.get('fieldManager')) {
        throw invalid('PatchOptions', '', 'fieldManager', 'Required value: is required for apply patch');
      }
      const object = objectIn(body, asked.served);
      if (metaOf(object).name !== undefined && metaOf(object).name !== asked.name) {
        throw badRequest('the name of the object does not match the name on the URL');
      }
      if ((object.metadata as JsonObject | undefined)?.managedFields !== undefined) {
        throw badRequest('metadata.managedFields must be nil');
      }
      const force = request.query.get('force') === 'true';
      return store.apply(asked.served, where, object, { ...by, force });
    }
    case 'application/merge-patch+json': {
      const merge = parsed(body);
      return store.patch(asked.served, where, (object) => mergePatch(object, merge), by);
    }
    case 'application/json-patch+json': {
      const steps = parseJson(body);
      if (!Array.isArray(steps)) throw badRequest('a JSON patch is a list');
      return store.patch(
        asked.served,
        where,
        (object) => jsonPatch(object, steps as unknown as PatchStep[]),
        by,
      );
    }
    default:
      throw new ApiFailure(
        415,
        'UnsupportedMediaType',
        `the body of the request was in an unknown format: ${type}`,
      );
  }
}
