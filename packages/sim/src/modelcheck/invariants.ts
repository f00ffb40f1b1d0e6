import { isElsewhere, type Plan, withRole } from '@handover/core';
import { type Instant, instant, minute } from '@handover/material';
import type { ModelWorld, State } from './model.ts';
import { isTheirs } from './neighbour.ts';
import { modelIssuer, natureOf } from './observe.ts';
import type { Oracle } from './oracle.ts';

const numberOf = (name: string): number => Number(/^[gl](\d+)/.exec(name)?.[1] ?? -1);

/** The first violation, or undefined. */
export const violationOf = (world: ModelWorld, state: State, oracle: Oracle): string | undefined =>
  failingPair(world, state, oracle) ??
  smuggled(world, state, oracle) ??
  unevenStability(world, state) ??
  lostAnchor(world, state) ??
  crowded(state) ??
  (state.keptKey === undefined ? undefined : `the key of ${state.keptKey} is kept after its distrust`) ??
  rotatedTwice(world, state);

/** The one invariant: the chain that P presents verifies against the bundle that V has loaded. */
const failingPair = (world: ModelWorld, state: State, oracle: Oracle): string | undefined => {
  // A neighbour that lies about what it shows breaks itself.
  const peers = Object.entries(state.consumers).filter(
    ([id]) => state.mode !== 'claims' || natureOf(world, id).outside !== true,
  );
  const presenters = peers.filter(([id]) => natureOf(world, id).presents !== undefined);
  const verifiers = peers.filter(([id]) => natureOf(world, id).verifies !== undefined);
  for (const [p, presenter] of presenters) {
    for (const from of presenter.pods) {
      if (from.chain[0] === undefined) continue;
      // A distrusted CA has to be refused.
      if (state.bad.includes(numberOf(from.chain[0]))) continue;
      if (natureOf(world, p).neverReloads === true && world.timed !== undefined) continue;
      const chain = natureOf(world, p).stripsCross === true ? from.chain.slice(0, 1) : from.chain;
      for (const [v, verifier] of verifiers) {
        for (const to of verifier.pods) {
          if (to.pending || (to.bundle.length === 0 && to.chain.length === 0)) continue;
          if (
            natureOf(world, v).neverReloads === true &&
            world.timed !== undefined &&
            bundleIsOver(to.bundle, state)
          )
            continue;
          // A peer's clock may be up to an hour behind: certificates begin an hour early.
          const all = world.timed === undefined ? [state.now] : [state.now, instant(state.now - 40 * minute)];
          const clocks = natureOf(world, p).expires === true ? all.filter(livesAt(from.chain[0])) : all;
          // With two distrusts at once no chain suits every verifier: GnuTLS fails until the second is over.
          const accepts = (clock: Instant): boolean =>
            state.distrust.length > 1
              ? oracle.accepts(chain, to.bundle, clock)
              : oracle.acceptedByAll(chain, to.bundle, clock);
          if (!clocks.every(accepts)) {
            return `${v} [${to.bundle.join(', ')}] refuses ${p} [${chain.join(', ')}]`;
          }
        }
      }
    }
  }
  return undefined;
};

const livesAt =
  (leaf: string) =>
  (clock: Instant): boolean => {
    const end = /~(-?\d+)/.exec(leaf)?.[1];
    return end === undefined || clock < Number(end) * 1000 + Date.UTC(2030, 0, 1);
  };

const bundleIsOver = (bundle: readonly string[], state: State): boolean =>
  bundle.every((name) => {
    const end = /~(-?\d+)/.exec(name)?.[1];
    return end !== undefined && Number(end) * 1000 + Date.UTC(2030, 0, 1) <= state.now;
  });

/** After a distrust, no verifier accepts a leaf of the distrusted CA, with any public cross-certificate. */
const smuggled = (world: ModelWorld, state: State, oracle: Oracle): string | undefined => {
  const { authority } = state;
  if (authority === undefined || state.bad.length === 0) return undefined;
  if (state.bad.some((number) => authority.generations.some((generation) => generation.number === number)))
    return undefined;
  if (
    state.distrust.some((number) => authority.generations.some((generation) => generation.number === number))
  )
    return undefined;
  for (const number of state.bad) {
    for (const [id, consumer] of Object.entries(state.consumers)) {
      const nature = natureOf(world, id);
      if (nature.verifies === undefined || nature.hidden === true || nature.outside === true) continue;
      for (const pod of consumer.pods) {
        if (!pod.pending && oracle.accepts([`l${number}r0`, ...state.signed], pod.bundle, state.now)) {
          return `${id} [${pod.bundle.join(', ')}] still accepts the distrusted generation ${number}`;
        }
      }
    }
  }
  return undefined;
};

/** When Stable(n): every known verifier holds n, and every known presenter presents a leaf of n. */
const unevenStability = (world: ModelWorld, state: State): string | undefined => {
  const { authority } = state;
  if (authority === undefined) return undefined;
  if (authority.generations.some(({ role }) => role !== 'current' && role !== 'retained')) return undefined;
  // An authority restored from a backup is older than its objects: it must only do nothing.
  if (Object.values(state.objects).some((object) => (object.revision ?? 0) > authority.revision))
    return undefined;
  const current = withRole(authority, 'current');
  if (current === undefined) return 'an authority without a current generation';
  for (const [id, consumer] of Object.entries(state.consumers)) {
    const nature = natureOf(world, id);
    if (nature.hidden === true || nature.outside === true || world.timed !== undefined) continue;
    for (const pod of consumer.pods) {
      if (pod.pending) continue;
      if (
        nature.verifies !== undefined &&
        !current.anchors.every((anchor) => pod.bundle.includes(anchor.fingerprint))
      ) {
        return `stable at ${current.number}, but ${id} holds [${pod.bundle.join(', ')}]`;
      }
      const [leaf] = pod.chain;
      if (
        nature.presents !== undefined &&
        leaf !== undefined &&
        !current.anchors.some((a) => a.fingerprint === modelIssuer(leaf))
      ) {
        return `stable at ${current.number}, but ${id} presents ${leaf}`;
      }
    }
  }
  return undefined;
};

/** While n is previous, no bundle lacks n. */
const lostAnchor = (world: ModelWorld, state: State): string | undefined => {
  const previous = state.authority && withRole(state.authority, 'previous');
  if (previous === undefined) return undefined;
  if (
    Object.values(state.objects).some((object) => (object.revision ?? 0) > (state.authority?.revision ?? 0))
  )
    return undefined;
  for (const [id, object] of Object.entries(state.objects)) {
    if ((state.leaves[id] === undefined && !world.bundles.includes(id)) || isTheirs(world, id)) continue;
    for (const anchor of previous.anchors) {
      const there = object.anchors.some((held) => held.fingerprint === anchor.fingerprint);
      if (!there && anchor.notAfter > state.now)
        return `generation ${previous.number} is previous, but ${id} lacks it`;
    }
  }
  return undefined;
};

/** If every consumer reloads, a rotation ends; otherwise the plan must name what it waits for. */
export const isAnswered = (world: ModelWorld, state: State, plan: Plan): boolean => {
  if (plan.blockedBy.length > 0 && !isCooperative(world)) return true;
  if (plan.actions.some((action) => !isElsewhere(action)) || plan.blockedBy.length > 0) return false;
  return plan.phase === 'Stable' && state.rotate.every((id) => state.authority?.ids.includes(id) === true);
};

const isCooperative = (world: ModelWorld): boolean =>
  Object.values(world.natures).every(
    (nature) =>
      ((world.neighbour !== undefined || world.elsewhere !== undefined) && nature.outside === true) ||
      (nature.unrollable !== true &&
        nature.keepsCopy !== true &&
        (nature.neverReloads !== true || (nature.hidden === true && nature.presents === undefined))),
  ) &&
  Object.values(world.lent ?? {}).every(({ stuck, elsewhere }) => stuck !== true || elsewhere === true) &&
  ['removals', 'restores', 'deletions'].every((fault) => (world.initial.budget[fault] ?? 0) === 0);

/** At most two generations are in use, so that bundles stay short with any number of rotations. */
const crowded = ({ authority }: State): string | undefined => {
  const roles = authority?.generations.map((generation) => generation.role) ?? [];
  if (authority?.generations.some(({ role, hasKey }) => role === 'retained' && hasKey) === true)
    return 'a retained generation with its key';
  const old = roles.filter((role) => role === 'previous').length;
  if (old > 1) return `${old} previous generations at once`;
  return roles.includes('next') && old > 0 ? 'a next generation beside a previous one' : undefined;
};

/** The same id never rotates twice: there are no more generations than requests. */
const rotatedTwice = (world: ModelWorld, state: State): string | undefined => {
  const { authority } = state;
  if (authority === undefined || world.timed !== undefined) return undefined;
  const replacements = state.bad.length;
  const most = 1 + state.rotate.length + replacements;
  return authority.lastGeneration > most
    ? `${authority.lastGeneration} generations, ${most} were asked for`
    : undefined;
};
