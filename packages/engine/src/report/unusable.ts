import { HandoverError } from '@handover/material';
import { isCode } from '../error.ts';
import { inParallel } from '../scheduling/in-parallel.ts';
import type { Unusable } from '../snapshot/catalogue.ts';
import type { AuthorityId } from '../snapshot/home.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { unmetIn } from './unmet.ts';

const AT_ONCE = 16;
/** Errors that say nothing about one authority: nothing else can be read either. */
const OF_THE_HOME = /^(HOME|KUBE)_/;

/** What was found out about each authority, and the resources about which there is only an error. */
export interface Surveyed<T> {
  readonly found: readonly T[];
  readonly unusable: readonly Unusable[];
}

/**
 * Looks at every authority, or at one. An authority that cannot be looked at is named, and hides no other: people who may not even
 * know each other have Authorities in one cluster.
 */
export async function survey<T>(
  { catalogue }: Pick<Snapshot, 'catalogue'>,
  only: AuthorityId | undefined,
  each: (id: AuthorityId) => Promise<T>,
): Promise<Surveyed<T>> {
  const found: T[] = [];
  const isAsked = ({ kind, id }: Unusable): boolean =>
    only === undefined || (kind === 'Authority' && id === only);
  const leftOut = (catalogue.leftOut ?? []).filter(isAsked);
  if (only !== undefined && leftOut.length > 0) return { found, unusable: leftOut };
  const frozen = (catalogue.frozen ?? []).filter((one) => isAsked(one) || one.kind !== 'Authority');
  const unusable = [...leftOut, ...frozen, ...unmetIn(catalogue).filter(isAsked)];
  const ids = only === undefined ? [...catalogue.authorities.keys()] : [only];
  const answers = new Map<AuthorityId, { readonly of: T } | Unusable>();
  // Side by side: consumers that hang delay what is said about their own authority.
  await inParallel(ids, AT_ONCE, async (id) => {
    try {
      answers.set(id, { of: await each(id) });
    } catch (error) {
      if (!(error instanceof HandoverError) || OF_THE_HOME.test(error.code)) throw error;
      // Otherwise it was deleted meanwhile.
      if (!isCode(error, 'AUTHORITY_UNKNOWN'))
        answers.set(id, { kind: 'Authority', id, code: error.code, message: error.message });
      else if (only !== undefined) throw error;
    }
  });
  for (const id of ids) {
    const answer = answers.get(id);
    if (answer === undefined) continue;
    if ('of' in answer) found.push(answer.of);
    else unusable.push(answer);
  }
  return { found, unusable };
}

/** `Authority shop/mesh: CODE: what; what to do`. */
export const unusableLine = ({ kind, id, code, message }: Unusable): string =>
  `${kind} ${id}: ${code}: ${message}`;
