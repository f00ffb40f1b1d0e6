import type { Unusable } from '@handover/engine';
import type { Declared } from './declared.ts';
import { quotedNames } from './injections.ts';

/** Messages about single resources begin with their names, as messages about files begin with the file. */
const withoutNames = ({ kind, name }: Declared, id: string, problem: string): string => {
  const [full, short] = [`${kind} ${id}: `, `${kind} ${name}: `];
  const rest = problem.startsWith(full) ? problem.slice(full.length) : problem;
  return rest.startsWith(short) ? rest.slice(short.length) : rest;
};

/** Resources that are declared and not used, with the reason; `problems` are by uid. */
export const leftOutOf = (
  declared: readonly Declared[],
  problems: ReadonlyMap<string, string>,
): readonly Unusable[] =>
  declared.flatMap((one) => {
    const problem = problems.get(one.uid);
    if (problem === undefined) return [];
    const id = one.namespace === undefined ? one.name : `${one.namespace}/${one.name}`;
    const code = one.problem === undefined ? 'RESOURCE_CONFLICT' : 'RESOURCE_INVALID';
    return [{ kind: one.kind, id, code, message: withoutNames(one, id, problem) }];
  });

/** Why there is no Authority of a name that an annotation gives. */
export const whyNoAuthority = (declared: readonly Declared[], id: string): string => {
  const exists = declared.some(
    ({ kind, namespace, name }) => kind === 'Authority' && `${namespace}/${name}` === id,
  );
  return exists
    ? `Authority ${quotedNames(id)} is invalid, as its status says`
    : `there is no Authority ${quotedNames(id)} (yet)`;
};
