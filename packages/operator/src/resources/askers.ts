import { DISTRUST, ROTATE } from '@handover/core';
import type { Asked, Known } from '@handover/engine';
import type { ManagedFields } from '@handover/kube';
import { beginningOf } from '../cache/bounds.ts';
import { requestsIn } from '../objects/authorities.ts';
import type { Declared } from './declared.ts';

/** What the clients called themselves that wrote a resource. A name that a client chose: a claim, not an account. */
export interface Managers {
  readonly spec?: string;
  readonly rotate?: string;
  readonly distrust?: string;
}

const inside = (fields: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (found, key) =>
      typeof found === 'object' && found !== null ? (found as Record<string, unknown>)[key] : undefined,
    fields,
  );

const ASKED = {
  spec: ['f:spec'],
  rotate: ['f:metadata', 'f:annotations', `f:${ROTATE}`],
  distrust: ['f:metadata', 'f:annotations', `f:${DISTRUST}`],
} as const satisfies Record<keyof Managers, readonly string[]>;

/** The last writer of each. */
export const managersIn = (managed: readonly ManagedFields[] = []): Managers => {
  const byTime = [...managed]
    .filter(({ subresource = '' }) => subresource === '')
    .sort((a, b) => ((a.time ?? '') < (b.time ?? '') ? -1 : 1));
  const found: Record<string, string> = {};
  for (const [what, path] of Object.entries(ASKED)) {
    const manager = byTime.findLast(({ fieldsV1 }) => inside(fieldsV1, path) !== undefined)?.manager;
    if (manager !== undefined) found[what] = beginningOf(manager, 128);
  }
  return found;
};

const isThere = ({ version }: Declared): boolean => version !== '';

/** What the resources themselves show about who asked. */
export const knownIn = (declared: readonly Declared[], asked: Asked): Known => {
  const [kind, id] =
    asked.kind === 'Leaf' ? (['Leaf', asked.id] as const) : ['Authority', authorityOf(asked)];
  const found = declared.find((one) => one.kind === kind && `${one.namespace}/${one.name}` === id);
  if (found === undefined || !isThere(found)) return {};
  const { uid, managers, resource } = found;
  const by = (manager: string | undefined) => (manager === undefined ? {} : { manager });
  switch (asked.kind) {
    case 'Leaf':
    case 'Authority':
      return { uid, askedBy: { via: 'resource', ...by(managers.spec) } };
    case 'rotate':
    case 'distrust': {
      const injections = requestsIn(resource?.metadata.annotations);
      const written =
        asked.kind === 'rotate'
          ? injections.rotate.includes(asked.id)
          : injections.distrust.includes(asked.generation);
      return written ? { uid, askedBy: { via: 'annotation', ...by(managers[asked.kind]) } } : { uid };
    }
    default:
      return asked satisfies never;
  }
};

const authorityOf = (asked: Exclude<Asked, { readonly kind: 'Leaf' }>): string =>
  asked.kind === 'Authority' ? asked.id : asked.authority;
