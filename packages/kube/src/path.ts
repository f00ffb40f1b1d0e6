import { KubeError } from './error.ts';
import type { ResourceKind } from './kinds.ts';

export interface ResourcePlace {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** Refuses what is never a name. Each kind has stricter rules of its own. */
function segment(text: string, what: string): string {
  if (text === '' || text === '.' || text === '..' || /[/%]/.test(text)) {
    throw new KubeError('KUBE_NAME_INVALID', `"${text.slice(0, 80)}" is not a valid ${what}`);
  }
  return encodeURIComponent(text);
}

/** `/apis/<group>/<version>/namespaces/<namespace>/<plural>/<name>/<subresource>`. */
export function pathOf(kind: ResourceKind, { namespace, name, subresource }: ResourcePlace): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  if (!kind.namespaced && namespace !== undefined) {
    throw new KubeError(
      'KUBE_NAME_INVALID',
      `${kind.plural} have no namespace; remove namespace "${namespace}"`,
    );
  }
  if (kind.namespaced && name !== undefined && namespace === undefined) {
    throw new KubeError('KUBE_NAME_INVALID', `${kind.kind} "${name}" needs a namespace`);
  }
  const within = namespace === undefined ? '' : `/namespaces/${segment(namespace, 'namespace')}`;
  const object = name === undefined ? '' : `/${segment(name, 'name')}`;
  const part =
    subresource === undefined
      ? ''
      : `/${subresource
          .split('/')
          .map((one) => segment(one, 'subresource'))
          .join('/')}`;
  return `${root}${within}/${kind.plural}${object}${part}`;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '' && value !== false) search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}
