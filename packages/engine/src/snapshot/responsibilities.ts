import { createHash } from 'node:crypto';
import {
  type Anchor,
  type Authority,
  type Leaf,
  type Policy,
  type TrustBundle,
  USED_BY,
} from '@handover/core';
import type { Certificate } from '@handover/material';
import { EngineError } from '../error.ts';
import {
  authorityRef,
  type Catalogue,
  idOf,
  leftOutAuthority,
  liesElsewhere,
  ownBundleOf,
  placedTargets,
  secretOf,
} from './catalogue.ts';
import type { AuthorityId, AuthorityRecord, ObjectId } from './home.ts';
import { refusalOf, servesNamespace } from './may-issue.ts';
import { type Output, outputsOfLeaf, outputsOfTarget } from './outputs.ts';
import type { SealKey } from './seal.ts';
import type { HomeFacts } from './snapshot.ts';

/** Certificates of a TrustBundle that are not the authority's own; `missing` names the source that cannot be read. */
export interface Extras {
  readonly certificates: readonly Certificate[];
  /** How many of them come from authorities that stand before this one, and so stand before it in the file. */
  readonly leading: number;
  readonly missing: string | undefined;
  /** Those of each other authority; undefined: its state is not to be had, so that what an object holds of it stays. */
  readonly others: ReadonlyMap<AuthorityId, readonly Certificate[] | undefined>;
  readonly sealKeys: ReadonlyMap<AuthorityId, SealKey>;
}

const NOTHING: Extras = {
  certificates: [],
  leading: 0,
  missing: undefined,
  others: new Map(),
  sealKeys: new Map(),
};

/** Everything one authority is asked to keep. */
export interface Responsibilities {
  readonly id: AuthorityId;
  readonly authority: Authority;
  /** Every namespace here has the same owner. */
  readonly oneOwner: boolean;
  /** Whether it issues anything to this namespace. */
  readonly serves: (namespace: string) => boolean;
  readonly policy: Policy;
  readonly leaves: ReadonlyMap<ObjectId, Leaf>;
  /** Extra certificates of each bundle target. */
  readonly bundles: ReadonlyMap<ObjectId, Extras>;
  /** Files in other formats, of the objects that have any. */
  readonly outputs: ReadonlyMap<ObjectId, readonly Output[]>;
  /** Objects by the TrustBundle that asks for them. */
  readonly targets: ReadonlyMap<string, readonly ObjectId[]>;
  /** Leaves that ask for this authority and may not have it. */
  readonly refused: readonly { readonly leaf: string; readonly why: string }[];
}

const specs = new WeakMap<Leaf, string>();

/** Identity of everything in a certificate that was asked for. */
export const specOf = (leaf: Leaf): string => {
  let spec = specs.get(leaf);
  if (spec === undefined) {
    spec = computeSpec(leaf);
    specs.set(leaf, spec);
  }
  return spec;
};

const computeSpec = (leaf: Leaf): string => {
  const { key, subject, dnsNames, ipAddresses, uris, usages, lifetime } = leaf.spec;
  const text = JSON.stringify([key, subject, dnsNames, ipAddresses, uris, usages, lifetime]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
};

export const anchorOf = ({ fingerprint, notBefore, notAfter }: Certificate): Anchor => ({
  fingerprint,
  notBefore,
  notAfter,
});

/** TrustBundles in which this authority is a source. */
export const bundlesWith = (catalogue: Catalogue, id: AuthorityId): readonly TrustBundle[] =>
  catalogue.trustBundles.filter((bundle) =>
    bundle.spec.sources.some(
      (source) => source.authority !== undefined && authorityRef(source.authority, 'default') === id,
    ),
  );

export const authorityIn = (catalogue: Catalogue, id: AuthorityId): Authority => {
  const authority = catalogue.authorities.get(id);
  if (authority !== undefined) return authority;
  const leftOut = leftOutAuthority(catalogue, id);
  if (leftOut !== undefined)
    throw new EngineError(
      'RESOURCE_INVALID',
      `Authority ${id} exists, but it is invalid: ${leftOut.message}; correct it first`,
      { path: id },
    );
  const known = [...catalogue.authorities.keys()];
  throw new EngineError(
    'AUTHORITY_UNKNOWN',
    `there is no authority ${id}; ${known.length === 0 ? 'none is declared here' : `there is ${known.slice(0, 5).join(', ')}`}`,
    { path: id },
  );
};

/** The planner's policy for one authority, read off the resources. */
export function policyFor(
  catalogue: Catalogue,
  id: AuthorityId,
  facts: HomeFacts,
  extras: ReadonlyMap<string, Extras>,
  record?: AuthorityRecord,
): Responsibilities {
  const authority = authorityIn(catalogue, id);
  const { oneOwner = false } = facts;
  const { rotation, lifetime } = authority.spec;
  const leaves = new Map<ObjectId, Leaf>();
  const refused: { leaf: string; why: string }[] = [];
  for (const leaf of catalogue.leaves) {
    if (authorityRef(leaf.spec.authority, leaf.metadata.namespace) !== id) continue;
    const why = refusalOf(authority, leaf, catalogue.namespaces, record);
    if (why === undefined) leaves.set(secretOf(leaf), leaf);
    else refused.push({ leaf: idOf(leaf), why: `authority ${id} refuses it: ${why}` });
  }
  const bundles = new Map<ObjectId, Extras>([[ownBundleOf(authority), NOTHING]]);
  const targets = new Map<string, readonly ObjectId[]>();
  const outputs = new Map([...leaves].map(([object, leaf]) => [object, outputsOfLeaf(leaf)]));
  for (const bundle of bundlesWith(catalogue, id)) {
    const placed = placedTargets(bundle, catalogue);
    targets.set(
      bundle.metadata.name,
      placed.map(([object]) => object),
    );
    const extra = extras.get(bundle.metadata.name) ?? NOTHING;
    for (const [object, target] of placed) {
      bundles.set(object, extra);
      outputs.set(object, outputsOfTarget(target));
    }
  }
  return {
    id,
    authority,
    oneOwner,
    serves: (namespace) => servesNamespace(authority, namespace, catalogue.namespaces),
    leaves,
    bundles,
    outputs: new Map([...outputs].filter(([, wanted]) => wanted.length > 0)),
    targets,
    refused,
    policy: {
      lifetime,
      rotate: rotation.before === undefined ? { at: rotation.at ?? 0.8 } : { before: rotation.before },
      strategy: rotation.strategy,
      reloadWithin: rotation.reloadWithin,
      onBlocked: rotation.onBlocked,
      patience: rotation.patience,
      ...(authority.spec.issueTo.patience === undefined
        ? {}
        : { patienceElsewhere: authority.spec.issueTo.patience }),
      paused: rotation.paused,
      maxConcurrentRollouts: rotation.maxConcurrentRollouts,
      cacheLag: facts.cacheLag,
      consumersFound: facts.consumersFound,
      leaves: [...leaves].map(([object, leaf]) => {
        const createdAt = facts.askedAt?.(idOf(leaf));
        return {
          object,
          name: idOf(leaf),
          spec: specOf(leaf),
          lifetime: leaf.spec.lifetime,
          renewAt: leaf.spec.renew.at,
          ...(leaf.spec.reuseKey ? { reuseKey: true } : {}),
          ...(liesElsewhere(object, { authority, oneOwner }) ? { elsewhere: true } : {}),
          ...(createdAt === undefined ? {} : { createdAt }),
          ...(usedBy(leaf) === 'others' ? { usedByOthers: true as const } : {}),
          ...(usedBy(leaf) === 'nobody' ? { usedByNobody: true as const } : {}),
        };
      }),
      bundles: [...bundles].map(([object, extra]) => ({
        object,
        extra: extra.certificates.map(anchorOf),
        // Without one of its sources it is the administrators' to mend, wherever it lies.
        ...(extra.missing === undefined && liesElsewhere(object, { authority, oneOwner })
          ? { elsewhere: true }
          : {}),
      })),
    },
  };
}

const usedBy = ({ metadata }: Leaf): string | undefined => metadata.annotations[USED_BY];
