import { createHash } from 'node:crypto';
import type { Leaf, ObjectSeen, TrustBundle } from '@handover/core';
import type { Instant } from '@handover/material';
import { authorityRef, type Catalogue, idOf, ownBundleOf, secretOf, targetsOf } from './catalogue.ts';
import type { AuthorityId, ObjectId, StoredObject } from './home.ts';
import type { ReloadMethod, TellResult } from './meters.ts';
import type { Snapshot } from './snapshot.ts';
import { bundleKeyOf, digestOf } from './stored-object.ts';

export type ReloadHook = NonNullable<Leaf['spec']['reload'] | TrustBundle['spec']['reload']>;
/** What changed in the files that a program reads. */
export type Change = 'leaf' | 'trust';

/** A hook that a resource declares: how its programs learn that their files changed. */
export interface Hook {
  /** `Leaf default/web`, `Authority default/mesh` for its own bundle, `TrustBundle company`. */
  readonly name: string;
  /** The TrustBundle that it belongs to. */
  readonly bundle?: string;
  readonly reload: ReloadHook;
  readonly objects: readonly ObjectId[];
  /** Authorities whose CAs are in the files; none: a bundle of other sources. */
  readonly authorities: readonly AuthorityId[];
}

/** What is remembered of a hook, as long as its definition stays the same. */
export interface HookRecord {
  /** Identity of the definition. */
  readonly hook: string;
  /** By object: what the program was told of last. */
  readonly told?: Readonly<Record<ObjectId, Told>> | undefined;
  /** Of a restart, by authority: the stamp to restart for, and the stamp of the last restart. */
  readonly wanted?: Readonly<Record<AuthorityId, string>> | undefined;
  readonly restarted?:
    | { readonly at: Instant; readonly stamps: Readonly<Record<AuthorityId, string>> }
    | undefined;
  readonly last?: HookResult | undefined;
}

/** Identity of each part of an object, and since when a program has been told of it. */
export interface Told {
  readonly parts: Parts;
  readonly anchors: ObjectSeen['anchors'];
  readonly issuer: { readonly fingerprint: string; readonly since: Instant } | undefined;
}

/** Content and date of its write: a file that was changed or deleted, and written again as before, has another identity. */
export type Parts = Readonly<Partial<Record<Change, string>>>;

/** How a hook ended. */
export interface HookResult {
  readonly at: Instant;
  readonly result: TellResult;
  readonly exitCode?: number | undefined;
  /** Bounded, printable, without key material; undefined: it worked. */
  readonly message?: string | undefined;
  readonly reason: string;
  /** Failures in a row. */
  readonly failures: number;
  readonly nextTry?: Instant | undefined;
  /** Id of the `handover reload` that it answers. */
  readonly asked?: string | undefined;
}

export interface HookReader {
  /** Undefined: it has not run in its present definition. */
  read(hook: Hook): HookRecord | undefined;
}

/** The way in which a hook tells. */
export const reloadMethodOf = ({ reload }: Hook): ReloadMethod => {
  if (reload.command !== undefined) return 'command';
  if (reload.signal !== undefined) return 'signal';
  if (reload.http !== undefined) return 'http';
  return reload.systemd !== undefined ? 'systemd' : 'restart';
};

/** Whether its program reads its files only when it starts. */
export const restarts = ({ reload }: Hook): boolean =>
  reload.restart !== undefined || reload.systemd?.action === 'restart';

/** Which changes a hook hears of. */
export const heardBy = ({ reload }: Hook): readonly Change[] =>
  ('on' in reload ? reload.on : undefined) ?? ['leaf', 'trust'];

export const definitionOf = ({ reload, objects }: Hook): string =>
  createHash('sha256')
    .update(JSON.stringify([reload, objects]))
    .digest('hex')
    .slice(0, 16);

/** Every hook that the resources declare. */
export const hooksIn = (catalogue: Catalogue): readonly Hook[] => [
  ...catalogue.leaves.flatMap((leaf): Hook[] => {
    const { reload, authority } = leaf.spec;
    if (reload === undefined) return [];
    const authorities = [authorityRef(authority, leaf.metadata.namespace)];
    return [{ name: `Leaf ${idOf(leaf)}`, reload, objects: [secretOf(leaf)], authorities }];
  }),
  ...[...catalogue.authorities.values()].flatMap((authority): Hook[] => {
    const { reload } = authority.spec.bundle;
    if (reload === undefined) return [];
    const [id, object] = [idOf(authority), ownBundleOf(authority)];
    return [{ name: `Authority ${id}`, reload, objects: [object], authorities: [id] }];
  }),
  ...catalogue.trustBundles.flatMap((bundle): Hook[] => {
    const { reload, sources } = bundle.spec;
    if (reload === undefined) return [];
    const named = sources.flatMap(({ authority }) =>
      authority === undefined ? [] : [authorityRef(authority, 'default')],
    );
    const authorities = named.filter((id) => catalogue.authorities.has(id));
    return [
      {
        name: `TrustBundle ${bundle.metadata.name}`,
        bundle: bundle.metadata.name,
        reload,
        objects: targetsOf(bundle, catalogue),
        authorities,
      },
    ];
  }),
];

export const hooksOf = (catalogue: Catalogue, authority: AuthorityId): readonly Hook[] =>
  hooksIn(catalogue).filter(({ authorities }) => authorities.includes(authority));

const shortHash = (bytes: Uint8Array | undefined): string =>
  createHash('sha256')
    .update(bytes ?? new Uint8Array())
    .digest('hex')
    .slice(0, 16);

/** Undefined: there is nothing of ours to tell of, or it was changed and is about to be written again. */
export const partsOf = (id: ObjectId, stored: StoredObject | undefined): Parts | undefined => {
  const { record, data } = stored ?? {};
  if (record === undefined || data === undefined || record.digest !== digestOf(data)) return undefined;
  const trust = `${shortHash(data[bundleKeyOf(id)])}@${record.changedAt}`;
  const { leaf } = record;
  return leaf === undefined ? { trust } : { trust, leaf: `${shortHash(data['tls.crt'])}@${leaf.writtenAt}` };
};

/** What a hook has not told its program yet. */
const changesFor = (
  hook: Hook,
  record: HookRecord | undefined,
  parts: ReadonlyMap<ObjectId, Parts>,
): readonly Change[] =>
  heardBy(hook).filter((change) =>
    [...parts].some(([id, part]) => part[change] !== record?.told?.[id]?.parts[change]),
  );

/** Why a hook has to run; none: it has told everything. */
export const dueFor = (
  hook: Hook,
  record: HookRecord | undefined,
  parts: ReadonlyMap<ObjectId, Parts>,
): readonly Change[] => {
  const changes = changesFor(hook, record, parts);
  // A restart is the planner's to decide, where an authority stands behind the files.
  if (!restarts(hook) || hook.authorities.length === 0) return changes;
  const { wanted = {}, restarted } = record ?? {};
  const isDue = Object.entries(wanted).some(([id, stamp]) => restarted?.stamps[id] !== stamp);
  if (!isDue) return [];
  return changes.length > 0 ? changes : ['trust'];
};

/** The files that a hook tells of, as far as they are there. */
export interface HookContent {
  readonly objects: ReadonlyMap<ObjectId, StoredObject>;
  readonly parts: ReadonlyMap<ObjectId, Parts>;
}

export const hookContent = async (
  { objects: reader }: Pick<Snapshot, 'objects'>,
  hook: Hook,
): Promise<HookContent> => {
  const objects = new Map<ObjectId, StoredObject>();
  const parts = new Map<ObjectId, Parts>();
  for (const id of hook.objects) {
    const stored = await reader.read(id);
    const part = partsOf(id, stored);
    if (stored === undefined || part === undefined) continue;
    objects.set(id, stored);
    parts.set(id, part);
  }
  return { objects, parts };
};
