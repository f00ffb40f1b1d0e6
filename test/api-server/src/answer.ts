import { badRequest, noSuchResource } from './api-failure.ts';
import { askedOf, type Context, ok, type Reply, viewOf, whereOf } from './context.ts';
import { list, startWatch } from './reads.ts';
import { write } from './writes.ts';

/** undefined: a watch, which answers by itself. */
export function answer(context: Context): Reply | undefined {
  const { path } = context.request;
  if (path === '/readyz' || path === '/livez' || path === '/healthz') return ok('ok');
  if (path === '/version') return ok({ major: '1', minor: '37', gitVersion: 'v1.37.0-fake' });
  return discovery(context) ?? resource(context);
}

function discovery({ request: { path }, store }: Context): Reply | undefined {
  const [, core, group, version] = /^\/(?:api\/([^/]+)|apis\/([^/]+)\/([^/]+))$/.exec(path) ?? [];
  if (core === undefined && group === undefined) return undefined;
  const found = store
    .served()
    .filter(({ kind }) => kind.group === (group ?? '') && kind.version === (version ?? core));
  if (found.length === 0) throw noSuchResource();
  const resources = found.flatMap(({ kind: { plural, kind, namespaced }, hasStatus }) =>
    [plural, ...(hasStatus ? [`${plural}/status`] : [])].map((name) => ({
      name,
      kind,
      namespaced,
      singularName: '',
      verbs: [],
    })),
  );
  const groupVersion = group === undefined ? core : `${group}/${version}`;
  return ok({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources });
}

function resource(context: Context): Reply | undefined {
  const asked = askedOf(context);
  const { served, namespace, name, subresource } = asked;
  const { method, watch } = context.request;
  if (served.kind.namespaced && namespace === undefined && (name !== undefined || method !== 'GET')) {
    throw badRequest('an empty namespace may not be set');
  }
  if (subresource !== '' && !(subresource === 'status' && served.hasStatus)) throw noSuchResource();
  if (method !== 'GET') return write(context, asked);
  if (name !== undefined) return ok(viewOf(context)(context.store.get(served, whereOf(asked))));
  return watch ? startWatch(context, asked) : list(context, asked);
}
