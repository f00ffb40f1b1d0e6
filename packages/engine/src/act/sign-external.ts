import type { KeyObject } from 'node:crypto';
import { desired, type Leaf, recordExternalSigning, SKEW, withRole } from '@handover/core';
import { type Certificate, type Duration, type Instant, instant } from '@handover/material';
import { EngineError } from '../error.ts';
import { entryOf, type IssuedEntry } from '../ledger/issued-entry.ts';
import type { Catalogue } from '../snapshot/catalogue.ts';
import type { AuthorityId, AuthorityRecord, Home, ObjectId } from '../snapshot/home.ts';
import { refusalOf } from '../snapshot/may-issue.ts';
import { authorityIn } from '../snapshot/responsibilities.ts';
import type { AuthorityReader } from '../snapshot/snapshot.ts';

/** A leaf that another program asks for: the key is its own. */
export interface ExternalRequest {
  readonly authority: AuthorityId;
  /** What it asks for, as a Leaf would. */
  readonly leaf: Leaf;
  readonly publicKey: KeyObject;
  readonly for: IssuedEntry['for'];
  readonly why: string;
  /** The object that will show it; undefined: none will. */
  readonly shownIn?: ObjectId;
  /** For a pod, which is seen by itself. */
  readonly forPod?: true;
  /** How far its life begins in the past. Default: as that of every leaf, and its lifetime counts from now. */
  readonly back?: Duration;
}

export interface ExternalLeaf {
  /** Leaf first, then its cross-certificates. */
  readonly chain: readonly Certificate[];
  /** The bundle of the authority, newest generation first. */
  readonly bundle: readonly Certificate[];
}

const notNow = (id: AuthorityId, why: string): never => {
  throw new EngineError('LEAF_NOT_NOW', `Authority ${id} signs nothing now: ${why}`, {
    path: id,
    retry: 'later',
  });
};

const certificatesOf = (
  { certificates }: AuthorityRecord,
  wanted: readonly { readonly fingerprint: string; readonly notAfter: Instant }[],
  now: Instant,
): readonly Certificate[] =>
  wanted.flatMap(({ fingerprint, notAfter }) => {
    const found = certificates.get(fingerprint);
    return found === undefined || now >= notAfter ? [] : [found];
  });

/**
 * A leaf for a key that another program holds, under the rules of a Leaf. The state remembers its end, and the log the leaf itself, before it
 * is handed out. `LEAF_REFUSED`: it may not have it. `LEAF_NOT_NOW`: try again.
 */
export async function signExternal(
  home: Home,
  { authorities, catalogue }: { readonly authorities: AuthorityReader; readonly catalogue: Catalogue },
  asked: ExternalRequest,
): Promise<ExternalLeaf> {
  const { authority: id, leaf } = asked;
  const authority = authorityIn(catalogue, id);
  const record = await authorities.load(id);
  const refusal = refusalOf(authority, leaf, catalogue.namespaces, record);
  if (refusal !== undefined)
    throw new EngineError('LEAF_REFUSED', `Authority ${id} refuses it: ${refusal}`, { path: id });
  const now = home.clock.now();
  const current = record && withRole(record.state, 'current');
  const key = current && record.keys.get(current.number);
  if (record === undefined || current === undefined) return notNow(id, 'it has no CA yet; see its status');
  const [ca] = certificatesOf(record, current.anchors, now);
  if (ca === undefined || key === undefined || now < ca.notBefore)
    return notNow(id, `CA generation ${current.number} has no key, has expired, or is not valid yet`);
  const { back } = asked;
  // A CA that is younger than `back` would cut the beginning off.
  const begins = back === undefined ? undefined : Math.max(now - back, ca.notBefore);
  const notAfter = instant(Math.min((begins ?? now) + leaf.spec.lifetime, ca.notAfter));
  const state = recordExternalSigning(record.state, {
    notAfter,
    isUnseen: asked.shownIn === undefined && asked.forPod !== true,
    forPod: asked.forPod === true,
    ...(leaf.metadata.namespace !== authority.metadata.namespace
      ? { elsewhere: asked.shownIn === undefined ? 'unnamed' : { object: asked.shownIn } }
      : {}),
  });
  if (state !== undefined) await home.authorities.swap(id, record.state.revision, { ...record, state });
  const certificate = await home.issuer.sign({
    leaf,
    by: { certificate: ca, signer: await home.keyring.open(key) },
    publicKey: asked.publicKey,
    // By a clock that is doubted, the leaf is valid by the time before the jump as well.
    notBefore: instant(begins ?? Math.min(now, home.clock.doubt?.()?.before ?? now) - SKEW),
    notAfter,
  });
  await home.ledger?.issued(
    entryOf(certificate, now, {
      kind: 'leaf',
      authority: id,
      generation: current.number,
      for: asked.for,
      askedBy: { via: 'resource' },
      why: asked.why,
    }),
  );
  // A leaf of a CA that was replaced meanwhile must not be handed out late.
  const after = await authorities.load(id);
  if (after?.state.revision !== record.state.revision)
    throw new EngineError('CONFLICT', `${id} changed meanwhile; looking again`, { path: id, retry: 'now' });
  const { chain, anchors } = desired(record.state);
  return {
    chain: [certificate, ...certificatesOf(record, chain, now)],
    bundle: certificatesOf(record, anchors, now),
  };
}
