import { type Instant, instant } from '@handover/material';
import { type Generation, trusted, withRole } from './authority.ts';
import { bundleAt, desired, EXPIRY_GRACE } from './desired.ts';
import type { PlanningContext } from './evidence.ts';
import { renewalDueAt, SKEW } from './expiry.ts';
import { FOREIGN_SPEC, type ObjectSeen } from './observed.ts';
import { othersExpire } from './old-leaves.ts';
import type { LeafPolicy } from './policy.ts';
import { isValidYet } from './transition.ts';

interface Write {
  readonly object: string;
  /** Version the decision rests on: on any other the write must not land. Undefined: the object must not exist yet. */
  readonly expect: string | undefined;
  readonly revision: number;
  /** Fingerprints, newest generation first. */
  readonly anchors: readonly string[];
  readonly why: string;
  /** Outside the authority's namespace: its failure is its owner's to repair. */
  readonly elsewhere?: true;
}

export interface BundleWrite extends Write {
  readonly kind: 'write-bundle';
}

export interface LeafWrite extends Write {
  readonly kind: 'write-leaf';
  /** A new key and leaf; undefined: the leaf in the Secret stays. */
  readonly issue:
    | {
        readonly generation: number;
        readonly notBefore: Instant;
        readonly notAfter: Instant;
        readonly othersExpire: Instant | undefined;
        readonly replacesOne: boolean;
        /** The key in the Secret stays, if it is of the right algorithm. */
        readonly keepsKey?: true;
      }
    | undefined;
  /** Fingerprints of the cross-certificates behind the leaf; undefined: as they are. */
  readonly chain: readonly string[] | undefined;
}

/** A warning for people. */
export interface Note {
  readonly code:
    | 'Degraded'
    | 'CannotIssue'
    | 'InstantBecamePhased'
    | 'DeadlinePassed'
    | 'ExpiringSoon'
    | 'Critical'
    | 'CannotRestart'
    | 'RolloutFailing'
    | 'AwayWhileRestarting'
    | 'NotYetValid'
    | 'Retained'
    | 'BehindElsewhere'
    | 'RestsOnCrossCertificate';
  readonly object: string;
  readonly message: string;
}

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);

const firstDifference = (differences: readonly (string | false | undefined)[]): string | undefined =>
  differences.find((difference): difference is string => typeof difference === 'string');

/** All objects that differ from what the authority says, or that carry an older revision. */
export const writesFor = (
  context: PlanningContext,
): { writes: readonly (BundleWrite | LeafWrite)[]; notes: readonly Note[] } => {
  const { state, policy, clock, objects } = context;
  const want = desired(state);
  const current = withRole(state, 'current');
  const isOver = (end: Instant): boolean => clock.ended(end + EXPIRY_GRACE);
  const mark = (object: string): Pick<Write, 'elsewhere'> =>
    context.elsewhere.has(object) ? { elsewhere: true } : {};
  const writes: (BundleWrite | LeafWrite)[] = [];
  const notes: Note[] = [];
  const chain = want.chain.filter((cross) => !isOver(cross.notAfter)).map((cross) => cross.fingerprint);

  const bundle = (
    seen: ObjectSeen | undefined,
    object: string,
    anchors = want.anchors,
  ): readonly string[] | undefined => {
    const live = bundleAt(anchors, isOver);
    if (live !== undefined) return live;
    notes.push({
      code: 'Degraded',
      object,
      message: 'every CA for it has expired; it keeps the bundle it has',
    });
    return seen?.anchors.map((anchor) => anchor.fingerprint);
  };
  const bundleDiffers = (seen: ObjectSeen | undefined, anchors: readonly string[]): string | undefined => {
    const held = seen?.anchors.map((anchor) => anchor.fingerprint) ?? [];
    return firstDifference([
      anchors.some((fingerprint) => !held.includes(fingerprint)) && 'its bundle lacks a CA',
      held.some((fingerprint) => !anchors.includes(fingerprint)) &&
        (seen?.edited === true
          ? 'its files were changed, and its bundle holds a CA that does not belong there'
          : 'its bundle holds a retired CA'),
      !same(held, anchors) && 'its bundle is not in canonical order',
      (seen?.revision ?? -1) < state.revision &&
        (seen?.edited === true
          ? 'it is not what its resource asks for'
          : 'the Authority has changed since it was written'),
      // Only in other namespaces: in its own the object would be ahead, and nothing would be written at all.
      (seen?.revision ?? 0) > state.revision && 'it claims to be made from a later state of the Authority',
    ]);
  };

  for (const target of policy.bundles) {
    const seen = objects.get(target.object);
    if (seen?.obstacle !== undefined) continue;
    const anchors = bundle(seen, target.object, [...want.anchors, ...target.extra]);
    if (anchors === undefined) continue;
    const why = seen === undefined ? 'it does not exist yet' : bundleDiffers(seen, anchors);
    if (why === undefined) continue;
    writes.push({
      kind: 'write-bundle',
      object: target.object,
      expect: seen?.version,
      revision: state.revision,
      anchors,
      why,
      ...mark(target.object),
    });
  }

  for (const leaf of policy.leaves) {
    const seen = objects.get(leaf.object);
    if (seen?.obstacle !== undefined) continue;
    const anchors = bundle(seen, leaf.object);
    if (anchors === undefined) continue;
    const issue = issueFor(context, leaf, seen);
    if (issue.wanted !== undefined && issue.leaf === undefined) {
      notes.push({
        code: 'CannotIssue',
        object: leaf.object,
        message: `no leaf can be issued: CA generation ${current?.number ?? '?'} has no key, has expired, or is not valid yet`,
      });
      if (seen === undefined) continue;
    }
    const ours =
      seen?.leaf !== undefined && current?.anchors.some((anchor) => anchor.fingerprint === seen.leaf?.issuer);
    const rechained = issue.leaf !== undefined || (ours === true && current?.hasKey === true);
    const why =
      (issue.leaf === undefined ? undefined : issue.wanted) ??
      firstDifference([
        rechained && !same(seen?.leaf?.chain ?? [], chain) && 'its chain of cross-certificates changed',
        bundleDiffers(seen, anchors),
      ]);
    if (why === undefined) continue;
    writes.push({
      kind: 'write-leaf',
      object: leaf.object,
      expect: seen?.version,
      revision: state.revision,
      anchors,
      issue: issue.leaf,
      chain: rechained ? chain : undefined,
      why,
      ...mark(leaf.object),
    });
  }
  return { writes, notes };
};

/** Whether a new leaf is wanted, why, and what it would be; `leaf` is undefined when it cannot be issued. */
const issueFor = (
  context: PlanningContext,
  leaf: LeafPolicy,
  seen: ObjectSeen | undefined,
): { wanted: string | undefined; leaf: LeafWrite['issue'] } => {
  const { state, clock } = context;
  const current = withRole(state, 'current');
  if (current === undefined) return { wanted: undefined, leaf: undefined };
  const ca = current.anchors[0];
  const notAfter = instant(Math.min(clock.now + leaf.lifetime, ca.notAfter));
  const held = seen?.leaf;
  const wanted = ((): string | undefined => {
    if (held === undefined) return seen === undefined ? 'it does not exist yet' : 'it holds no leaf';
    if (!current.anchors.some((anchor) => anchor.fingerprint === held.issuer)) {
      return `CA generation ${current.number} signs now`;
    }
    if (!current.hasKey) return undefined; // adopted without its key: the next rotation renews it
    if (held.spec !== leaf.spec) return 'its spec changed';
    // Both come from a clock that was ahead.
    if (!clock.reached(held.notBefore)) return 'it is not valid yet';
    if (held.notAfter > clock.now + leaf.lifetime + 2 * SKEW) return 'it lasts longer than its spec says';
    // Never to the NotAfter it already has: a CA near its end cannot give a longer life.
    // A leaf that was dated back, while the clock was doubted, still has its whole lifetime.
    const dueAt = Math.max(
      renewalDueAt(held, leaf.renewAt),
      held.notAfter - (1 - leaf.renewAt) * leaf.lifetime,
    );
    const due = clock.reached(dueAt) && notAfter > held.notAfter;
    return due ? 'it is due for renewal' : undefined;
  })();
  const cannot = !current.hasKey || clock.reached(ca.notAfter) || !isValidYet(current, clock);
  if (wanted === undefined || cannot) return { wanted, leaf: undefined };
  const outThere = held === undefined ? forgottenEnd(context, leaf) : earlierEnd(seen, current, notAfter);
  return {
    wanted,
    leaf: {
      generation: current.number,
      // While the clock is doubted, the leaf is valid by the time before the jump as well.
      notBefore: instant(
        Math.max(Math.min(clock.now, clock.doubt?.before ?? clock.now) - SKEW, ca.notBefore),
      ),
      notAfter,
      replacesOne: held !== undefined || outThere !== undefined,
      othersExpire: outThere,
      ...(keepsKey(context, leaf, held) ? { keepsKey: true } : {}),
    },
  };
};

/**
 * Only a key that was made here, for a leaf of a CA that is still trusted: another program may know the key that it put into the Secret, and
 * the leak that made a CA distrusted may have included the keys of its leaves.
 */
const keepsKey = ({ state }: PlanningContext, leaf: LeafPolicy, held: ObjectSeen['leaf']): boolean => {
  if (leaf.reuseKey !== true || held === undefined || held.spec === FOREIGN_SPEC) return false;
  return trusted(state).some(({ anchors }) => anchors.some(({ fingerprint }) => fingerprint === held.issuer));
};

/** Until when a program may go on with an earlier leaf of this Secret: of another CA, or of the same one with a longer life than the new leaf. */
const earlierEnd = (
  seen: ObjectSeen | undefined,
  current: Generation,
  notAfter: Instant,
): Instant | undefined => {
  const others = othersExpire(seen, current);
  const end = seen?.leaf?.notAfter;
  return end !== undefined && end > notAfter && !(others !== undefined && others > end) ? end : others;
};

/**
 * Until when a program may hold a leaf of a Secret that was deleted and is created again; undefined: the Secret is new. How long its leaf was to last is
 * forgotten with it: the Leaf may ask for another lifetime since.
 */
const forgottenEnd = (context: PlanningContext, leaf: LeafPolicy): Instant | undefined => {
  const previous = withRole(context.state, 'previous') ?? withRole(context.state, 'distrusted');
  if (previous === undefined || (leaf.createdAt !== undefined && leaf.createdAt > previous.since))
    return undefined;
  return previous.anchors[0].notAfter;
};
