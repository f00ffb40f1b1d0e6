import { reconcile } from '../controller/reconcile.ts';
import { EngineError } from '../error.ts';
import type { AuthorityId, Home } from '../snapshot/home.ts';
import type { Adoption } from '../snapshot/snapshot.ts';
import type { DirectoryHome } from './home.ts';

/** A home whose looks hand the CA over to the authority: a dry run on it shows what would change. */
export const handing = (home: DirectoryHome, authority: AuthorityId, adoption: Adoption): Home => ({
  ...home,
  fresh: async () => ({ ...(await home.fresh()), given: { authority, adoption } }),
});

/** Whether the authority has this CA already. One that has another cannot begin with it any more. */
export async function isAdopted(
  home: DirectoryHome,
  authority: AuthorityId,
  { certificates }: Adoption,
): Promise<boolean> {
  const state = (await home.authorities.load(authority))?.state;
  if (state === undefined) return false;
  const held = state.generations.flatMap(({ anchors }) => anchors.map(({ fingerprint }) => fingerprint));
  if (certificates.every(({ fingerprint }) => held.includes(fingerprint))) return true;
  throw new EngineError(
    'ADOPT_NOT_FIRST',
    `${authority} has CA generation ${state.lastGeneration} already, and programs may trust no other; adopt the CA into a new Authority, before its first handover run`,
    { path: authority },
  );
}

/** The one step that makes the CA a generation. Takes the lock. */
export async function adopt(home: DirectoryHome, authority: AuthorityId, adoption: Adoption): Promise<void> {
  const lock = await home.lock();
  try {
    const { plan } = await reconcile(handing(home, authority, adoption), authority);
    const [first] = plan.blockedBy;
    if (first !== undefined)
      throw new EngineError('ADOPT_UNDECIDED', `${first.consumer} has ${first.waitsFor}`, {
        path: authority,
      });
  } finally {
    await lock.release();
  }
}
