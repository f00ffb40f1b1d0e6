import { plan } from '@handover/core';
import { type Certificate, type Instant, verifyChain } from '@handover/material';
import { reconcile } from '../controller/reconcile.ts';
import type { Catalogue } from '../look/catalogue.ts';
import type { AuthorityId, Home, ObjectId, RequestSource } from '../look/home.ts';
import { trialKeyring } from '../look/local-key.ts';
import { bundleKeyOf, readableCertificates } from '../look/stored-object.ts';
import { type Observation, observe } from '../observe/observe.ts';
import { MemoryAuthorities, MemoryObjects } from './memory-home.ts';
import { type Trust, trustBetween } from './trust-matrix.ts';

export interface Answer {
  readonly ok: boolean;
  readonly reason?: string;
}

export interface TrustMatrix extends Trust {
  readonly authority: AuthorityId;
  /** What the next step is; empty: there is none. */
  readonly step: readonly string[];
}

export interface Material {
  readonly chains: ReadonlyMap<ObjectId, readonly Certificate[]>;
  readonly bundles: ReadonlyMap<ObjectId, readonly Certificate[]>;
  readonly purposes: ReadonlyMap<ObjectId, readonly ('server' | 'client')[]>;
}

/** The same home, in which nothing that is done stays: objects and authorities live in memory on top of the real ones. */
export const dryRun = (
  home: Home,
  asked?: Partial<{ rotate: readonly string[]; distrust: readonly number[] }>,
): Home => {
  const requests: RequestSource = {
    pending: async (id) => {
      const real = await home.requests.pending(id);
      return {
        rotate: [...real.rotate, ...(asked?.rotate ?? [])],
        distrust: [...new Set([...real.distrust, ...(asked?.distrust ?? [])])],
      };
    },
    done: async () => {},
  };
  return {
    ...home,
    clock: home.clock,
    keyring: trialKeyring(home.keyring),
    issuer: home.issuer,
    random: home.random,
    facts: home.facts,
    evidence: home.evidence,
    objects: new MemoryObjects(() => home.clock.now(), home.objects),
    authorities: new MemoryAuthorities(home.authorities),
    requests,
    reloads: undefined,
    cached: undefined,
    rollouts: { stamp: async () => {} },
    ledger: undefined,
  };
};

/** What the objects of an authority hold now, as far as it can be read. */
export const materialOf = async (home: Home, catalogue: Catalogue, id: AuthorityId): Promise<Material> =>
  materialIn(await observe(home, catalogue, id));

/** What the objects of one look hold, as far as it can be read. */
export const materialIn = ({
  responsibilities,
  stored,
}: Pick<Observation, 'responsibilities' | 'stored'>): Material => {
  const chains = new Map<ObjectId, readonly Certificate[]>();
  const bundles = new Map<ObjectId, readonly Certificate[]>();
  for (const [object, { data }] of stored) {
    const chain = readableCertificates(data['tls.crt']);
    if (chain.length > 0) chains.set(object, chain);
    const anchors = readableCertificates(data[bundleKeyOf(object)]);
    if (anchors.length > 0) bundles.set(object, anchors);
  }
  const purposes = new Map(
    [...responsibilities.leaves].map(([object, leaf]) => [object, leaf.spec.usages] as const),
  );
  return { chains, bundles, purposes };
};

/** Few bundles are distinct, however many objects hold them: each chain is checked once against each. */
export type Verdicts = Map<string, Answer>;

/** The same for the same certificates in the same order. */
export const certificatesKey = (certificates: readonly Certificate[]): string =>
  certificates.map(({ fingerprint }) => fingerprint).join();

/** Whether a chain verifies against a bundle, for every use its leaf is meant for; what is not there refuses nobody. */
export const answer = (
  verdicts: Verdicts,
  chain: readonly Certificate[] | undefined,
  anchors: readonly Certificate[] | undefined,
  purposes: readonly ('server' | 'client')[],
  at: Instant,
): Answer => {
  if (chain === undefined || anchors === undefined) return { ok: true };
  const asked = `${certificatesKey(chain)}|${certificatesKey(anchors)}|${purposes.join()}`;
  const known = verdicts.get(asked);
  if (known !== undefined) return known;
  let found: Answer = { ok: true };
  for (const purpose of purposes) {
    const verdict = verifyChain({ chain, anchors, at, purpose });
    if (!verdict.ok) found = { ok: false, reason: `${verdict.code}: ${verdict.reason}` };
  }
  verdicts.set(asked, found);
  return found;
};

/**
 * Every presenter before every verifier: as their files are now, and after the next step, in which each of them may or
 * may not have loaded its new files yet. `was`: how the files were, if they may have changed since.
 */
export async function verifyAuthority(
  home: Home,
  catalogue: Catalogue,
  id: AuthorityId,
  asked?: { readonly rotate?: readonly string[]; readonly distrust?: readonly number[] },
  was?: Material,
): Promise<TrustMatrix> {
  const before = was ?? (await materialOf(home, catalogue, id));
  const trial = dryRun(home, asked);
  const step: string[] = [];
  for (let passes = 0; passes < 64; passes++) {
    const observation = await observe(trial, catalogue, id);
    const { actions } = plan(observation.seen, observation.responsibilities.policy, observation.now);
    if (actions.length === 0) break;
    for (const action of actions)
      if (!action.kind.startsWith('write-')) step.push(`${action.kind}: ${action.why}`);
    await reconcile(trial, catalogue, id);
  }
  const after = await materialOf(trial, catalogue, id);
  return { authority: id, step, ...trustBetween(before, after, home.clock.now()) };
}
