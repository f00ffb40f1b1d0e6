import {
  type AuthorityState,
  caGenerations,
  elsewhereEnds,
  type Plan,
  type Standing,
  withRole,
} from '@handover/core';
import { answer, certificatesKey, type Material, type Observation, type Verdicts } from '@handover/engine';
import type { Certificate, Instant } from '@handover/material';
import type { Cell, Party, TrustGrid } from './document.ts';

/** One side of a handshake, as far as known. */
interface Side {
  readonly name: string;
  readonly objects: readonly string[];
  /** It has not confirmed yet what the next step needs. */
  readonly lacks: boolean;
  /** Nothing but its owner's word says that it has loaded its files. */
  readonly assumed: boolean;
  readonly writing: boolean;
}

interface Presenter extends Side {
  /** Generations that may have signed the leaf that it serves now. */
  readonly issuers: readonly number[];
}

interface Verifier extends Side {
  /** Generations that it certainly trusts. */
  readonly holds: readonly number[];
}

interface Ahead {
  readonly kind: 'activate' | 'retire';
  readonly coming: number;
  readonly going: number;
  readonly crossed: boolean;
  /** The one that is retired stays trusted for leaves that no step waits for. */
  readonly retains?: boolean;
}

const stepOf = (state: AuthorityState | undefined, now: Instant): Ahead | undefined => {
  if (state === undefined) return undefined;
  const next = withRole(state, 'next');
  const current = withRole(state, 'current');
  const previous = withRole(state, 'previous');
  if (next !== undefined && current !== undefined) {
    const crossed = current.hasKey && current.anchors[0].notAfter > now;
    return { kind: 'activate', coming: next.number, going: current.number, crossed };
  }
  if (current === undefined || previous === undefined) return undefined;
  const crossed = state.crosses.some(({ of, by }) => of === current.number && by === previous.number);
  const { elsewhere, unseenUntil } = previous;
  const retains = Math.max(elsewhereEnds(elsewhere) ?? 0, unseenUntil ?? 0) > now;
  return { kind: 'retire', coming: current.number, going: previous.number, crossed, retains };
};

const wordsFor = (state: AuthorityState | undefined, ahead: Ahead | undefined): string | null => {
  if (ahead?.kind === 'activate') return `sign with CA generation ${ahead.coming}`;
  if (ahead?.kind === 'retire') return `retire CA generation ${ahead.going}`;
  const gone = state?.generations.filter(({ role }) => role === 'distrusted').map(({ number }) => number);
  return gone === undefined || gone.length === 0 ? null : `forget ${caGenerations(gone)}`;
};

const numbersOf = (state: AuthorityState | undefined): ReadonlyMap<string, number> =>
  new Map(
    (state?.generations ?? []).flatMap(({ number, anchors }) =>
      anchors.map(({ fingerprint }) => [fingerprint, number] as const),
    ),
  );

const sidesOf = (
  observation: Observation,
  plan: Plan,
  standings: readonly Standing[],
): { readonly presenters: readonly Presenter[]; readonly verifiers: readonly Verifier[] } => {
  const { seen, responsibilities } = observation;
  const state = seen.authority;
  const ahead = stepOf(state, observation.now);
  const number = numbersOf(state);
  const objects = new Map(seen.objects.map((object) => [object.id, object]));
  const lacking = new Map(standings.map(({ consumer, lacks }) => [consumer, lacks]));
  const assuming = new Map(standings.map(({ consumer, assumes }) => [consumer, assumes]));
  const blocked = new Set(plan.blockedBy.map(({ consumer }) => consumer));
  const written = new Set(plan.actions.flatMap((action) => ('object' in action ? [action.object] : [])));
  const newest = ahead?.coming ?? (state === undefined ? undefined : withRole(state, 'current')?.number);
  const side = (name: string, of: readonly string[], what: 'trust' | 'leaf'): Side => ({
    name,
    objects: of,
    lacks: lacking.has(name)
      ? (lacking.get(name) ?? []).some((lack) => lack.what === what)
      : blocked.has(name) || of.some((object) => blocked.has(object) || blocked.has(`readers of ${object}`)),
    // Where consumers are declared and not found, the programs that use an object without one are not known.
    assumed: assuming.get(name)?.some((one) => one.what === what) ?? !responsibilities.policy.consumersFound,
    writing: of.some((object) => written.has(object)),
  });
  const presenter = (base: Side): Presenter => {
    const served = base.objects.flatMap(
      (object) => number.get(objects.get(object)?.leaf?.issuer ?? '') ?? [],
    );
    const old = base.lacks && ahead?.kind === 'retire' ? [ahead.going] : [];
    return { ...base, issuers: [...new Set([...served, ...old])].sort() };
  };
  const verifier = (base: Side): Verifier => {
    const bundles = base.objects.map(
      (object) =>
        new Set(objects.get(object)?.anchors.flatMap(({ fingerprint }) => number.get(fingerprint) ?? [])),
    );
    const held = [...(bundles[0] ?? [])].filter((each) => bundles.every((bundle) => bundle.has(each)));
    return { ...base, holds: held.filter((each) => !(base.lacks && each === newest)).sort() };
  };
  const presented = new Set(seen.consumers.flatMap(({ presents }) => presents));
  const verified = new Set(seen.consumers.flatMap(({ verifies }) => verifies));
  const bundleObjects = [...responsibilities.bundles.keys()].filter((object) => !verified.has(object));
  const secrets = [...responsibilities.leaves.keys()].filter((object) => objects.has(object));
  return {
    presenters: [
      ...seen.consumers
        .filter(({ presents }) => presents.length > 0)
        .map(({ id, presents }) => presenter(side(id, presents, 'leaf'))),
      ...secrets
        .filter((object) => !presented.has(object))
        .map((object) => presenter(side(object, [object], 'leaf'))),
    ],
    verifiers: [
      ...seen.consumers
        .filter(({ verifies }) => verifies.length > 0)
        .map(({ id, verifies }) => verifier(side(id, verifies, 'trust'))),
      ...[...secrets.filter((object) => !verified.has(object)), ...bundleObjects].map((object) =>
        verifier(side(object, [object], 'trust')),
      ),
    ],
  };
};

/** The pair after the step, if both sides had loaded only what evidence shows. */
const afterStep = (
  ahead: Ahead,
  presenter: Presenter,
  verifier: Verifier,
): Pick<Cell, 'next' | 'whyNext'> => {
  const { coming, going } = ahead;
  const trusts = verifier.holds.includes(coming);
  if (ahead.kind === 'activate') {
    if (trusts) return { next: 'ok' };
    return ahead.crossed && verifier.holds.includes(going)
      ? {
          next: 'waits',
          whyNext: `only the cross-certificate by CA generation ${going} would make it verify`,
        }
      : { next: 'fails', whyNext: `the verifier is not known to trust CA generation ${coming}` };
  }
  if (presenter.issuers.includes(going) && ahead.retains === true)
    return {
      next: 'waits',
      whyNext: `it may still serve a leaf of CA generation ${going}, which stays trusted for such leaves`,
    };
  if (presenter.issuers.includes(going))
    return {
      next: 'fails',
      whyNext: `it may still serve a leaf of CA generation ${going}, which no verifier would trust`,
    };
  return trusts
    ? { next: 'ok' }
    : { next: 'waits', whyNext: `the verifier has not confirmed that it trusts CA generation ${coming}` };
};

const nowOf = (
  file: string | undefined,
  presenter: Presenter,
  verifier: Verifier,
  newest: number | undefined,
): Pick<Cell, 'now' | 'why'> => {
  if (file !== undefined) return { now: 'fails', why: file };
  if (verifier.lacks)
    return {
      now: 'waits',
      why: `the verifier has not confirmed that it trusts CA generation ${newest ?? '?'}`,
    };
  if (presenter.lacks)
    return {
      now: 'waits',
      why: `the presenter has not confirmed its leaf of CA generation ${newest ?? '?'}`,
    };
  if (presenter.writing || verifier.writing) return { now: 'waits', why: 'files are being written' };
  if (presenter.assumed || verifier.assumed) {
    const side = presenter.assumed ? 'presenter' : 'verifier';
    return {
      now: 'assumed',
      why: `nothing shows what the ${side} has loaded; its owner says that it reloads within reloadWithin`,
    };
  }
  return { now: 'ok' };
};

interface Group<T> {
  readonly first: T;
  readonly index: number;
}

/** Those with the same key share a group. */
const grouped = <T extends Side>(
  sides: readonly T[],
  keyOf: (side: T) => string,
): { readonly parties: readonly Party[]; readonly groups: readonly Group<T>[] } => {
  const groups = new Map<string, Group<T>>();
  const parties = sides.map((side): Party => {
    const key = keyOf(side);
    const group = groups.get(key) ?? { first: side, index: groups.size };
    groups.set(key, group);
    return { name: side.name, group: group.index };
  });
  return { parties, groups: [...groups.values()] };
};

const codeOf = (reason: string): string => reason.split(':', 1)[0] ?? '';

/**
 * Which presenters each verifier accepts: files are verified certificate by certificate, and evidence says what processes have loaded.
 * Made from one observation, without further requests.
 */
export const trustGrid = (
  observation: Observation,
  plan: Plan,
  standings: readonly Standing[],
  material: Material,
  verdicts: Verdicts,
): TrustGrid => {
  const state = observation.seen.authority;
  const ahead = stepOf(state, observation.now);
  const newest = ahead?.coming ?? (state === undefined ? undefined : withRole(state, 'current')?.number);
  const { presenters, verifiers } = sidesOf(observation, plan, standings);
  const bundles = new Map<string, readonly Certificate[]>();
  const bundleKey = (object: string): string => {
    const bundle = material.bundles.get(object) ?? [];
    const key = certificatesKey(bundle);
    if (bundle.length > 0) bundles.set(key, bundle);
    return key;
  };
  const columns = grouped(verifiers, ({ objects, lacks, assumed, writing, holds }) =>
    JSON.stringify([[...new Set(objects.map(bundleKey))].sort(), lacks, assumed, writing, holds]),
  );
  const refusal = (object: string, bundle: readonly Certificate[] | undefined): string | undefined => {
    const purposes = material.purposes.get(object) ?? ['server'];
    const { ok, reason = 'refused' } = answer(
      verdicts,
      material.chains.get(object),
      bundle,
      purposes,
      observation.now,
    );
    return ok ? undefined : reason;
  };
  const distinct = [...bundles.values()];
  const rows = grouped(presenters, ({ objects, lacks, assumed, writing, issuers }) =>
    JSON.stringify([
      distinct.map((bundle) => objects.map((object) => codeOf(refusal(object, bundle) ?? ''))),
      lacks,
      assumed,
      writing,
      issuers,
    ]),
  );
  const cells = rows.groups.map(({ first: presenter }) =>
    columns.groups.map(({ first: verifier }): Cell => {
      const file = presenter.objects
        .flatMap((object) => verifier.objects.map((other) => refusal(object, material.bundles.get(other))))
        .find((reason) => reason !== undefined);
      return {
        ...nowOf(file, presenter, verifier, newest),
        ...(ahead === undefined ? { next: null } : afterStep(ahead, presenter, verifier)),
      };
    }),
  );
  return { step: wordsFor(state, ahead), presenters: rows.parties, verifiers: columns.parties, cells };
};
