import type { ServerResponse } from 'node:http';
import type { Clock } from '@handover/material';
import { noSuchResource } from './api-failure.ts';
import type { ApiStore } from './api-store.ts';
import type { SeenRequest } from './faults.ts';
import type { JsonObject } from './json.ts';
import { fieldsOf, type ServedKind } from './known-kinds.ts';
import { fieldSelector, labelSelector } from './selectors.ts';
import { metaOf, type Where } from './versions.ts';
import type { Watching } from './watching.ts';

/** One request, and what answering it needs. */
export interface Context {
  readonly request: SeenRequest;
  readonly body: string;
  readonly response: ServerResponse;
  readonly store: ApiStore;
  readonly bookmarkMs: number;
  readonly clock: Clock;
  readonly streamingLists: boolean;
  readonly watching: (watch: Watching) => void;
}

export interface Reply {
  readonly status: number;
  readonly body: object | string;
}

export const ok = (body: object | string, status = 200): Reply => ({ status, body });

/** The kind, object and subresource in a request's path. */
export interface Asked {
  readonly served: ServedKind;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string;
}

const PATH =
  /^\/(?:api\/(v1)|apis\/([^/]+)\/([^/]+))(?:\/namespaces\/([^/]+)(?=\/[^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/(.+))?$/;

export function askedOf({ request: { path }, store }: Context): Asked {
  const match = PATH.exec(path);
  if (match === null) throw noSuchResource();
  const [, core, group, version, inNamespace, plural = '', rawName, subresource = ''] = match;
  const decoded = (text: string | undefined) => (text === undefined ? undefined : decodeURIComponent(text));
  // `/api/v1/namespaces/x` is a Namespace; `/api/v1/namespaces/x/secrets` is in one.
  const served = store.kind(group ?? '', version ?? core ?? '', plural);
  return { served, namespace: decoded(inNamespace), name: decoded(rawName), subresource };
}

export const whereOf = ({ namespace, name = '' }: Asked): Where => ({ namespace, name });

/** The object, or only its metadata, as the Accept header asks. */
export function viewOf({ request }: Context): (object: JsonObject) => JsonObject {
  const partial = /as=PartialObjectMetadata(List)?[;,]/.test(String(request.headers.accept ?? ''));
  return (object) =>
    partial
      ? { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata ?? {} }
      : object;
}

export function selectorOf(
  { request: { query } }: Context,
  { served }: Asked,
): (object: JsonObject) => boolean {
  const labels = labelSelector(query.get('labelSelector') ?? '');
  const fields = fieldSelector(query.get('fieldSelector') ?? '', fieldsOf(served.kind.plural));
  return (object) => labels(metaOf(object).labels ?? {}) && fields(object);
}
