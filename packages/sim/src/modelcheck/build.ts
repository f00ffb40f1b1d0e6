import type { AuthorityState, Policy } from '@handover/core';
import { day, duration, hour, type Instant, instant } from '@handover/material';
import {
  BASE,
  type ModelConsumer,
  type ModelObject,
  type ModelWorld,
  type Nature,
  type State,
  ticks,
} from './model.ts';
import { isTheirs } from './neighbour.ts';

export interface Plot {
  readonly natures: Readonly<Record<string, Nature & { readonly pods?: number }>>;
  readonly bundles?: readonly string[];
  readonly budget?: Readonly<Record<string, number>>;
  readonly policy?: Partial<Policy>;
  readonly controllers?: number;
  readonly caches?: boolean;
  readonly slow?: readonly string[];
  readonly timeless?: boolean;
  readonly torn?: boolean;
  readonly neighbour?: readonly string[];
  readonly elsewhere?: readonly string[];
  readonly others?: readonly string[];
  /** The authority knows nothing of leaves in other namespaces: its state is from before they were remembered. */
  readonly forgetful?: boolean;
  readonly timed?: ModelWorld['timed'];
  readonly lent?: ModelWorld['lent'];
  /** Secrets of another tool: a CA in use whose key is lost, and no authority yet. */
  readonly adopted?: boolean;
  /** A rotation is over: the leaves are from the CA that it brought, with its cross-certificate behind them. */
  readonly rotated?: boolean;
  /** Natures that exist from the start; default: all. */
  readonly present?: readonly string[];
}

/** A world that is stable at generation 1 (or waits to be adopted), with every consumer up to date. */
export const worldOf = (name: string, plot: Plot): ModelWorld => {
  const past = instant(BASE - (plot.neighbour === undefined ? 6 : 3) * 5_000);
  const clockwork = plot.timed === undefined ? {} : { timed: plot.timed };
  const dates = ((): { ca: string; leaf: string; notBefore: Instant; caEnd: Instant; leafEnd: Instant } => {
    if (plot.timed === undefined) {
      return {
        ca: plot.adopted === true ? 'g0' : 'g1',
        leaf: plot.adopted === true ? 'l0r0' : 'l1r0',
        notBefore: instant(BASE - 400 * day),
        caEnd: instant(BASE + 4000 * day),
        leafEnd: instant(BASE + 3000 * day),
      };
    }
    const caEnd = instant(BASE + ticks(clockwork, plot.timed.lifetime));
    const leafEnd = instant(BASE + ticks(clockwork, plot.timed.leafLifetime));
    const text = (end: Instant): string => `${-hour / 1000}~${(end - BASE) / 1000}`;
    return {
      ca: `g1@${text(caEnd)}`,
      leaf: `l1r0@${text(leafEnd)}/${text(caEnd)}`,
      notBefore: instant(BASE - hour),
      caEnd,
      leafEnd,
    };
  })();
  const behind = plot.rotated === true ? ['x1.0'] : [];
  const shown = Object.values(plot.natures).filter(({ unseen }) => unseen !== true);
  const secrets = [...new Set(shown.flatMap((nature) => nature.presents ?? []))].filter(
    (id) => id !== 'late',
  );
  const isLent = (id: string): boolean => plot.lent?.[id] !== undefined;
  const theirs = secrets.filter((id) => isTheirs(plot, id)).sort();
  const held: ModelObject = {
    version: 1,
    revision: plot.adopted === true ? undefined : 1,
    anchors: [{ fingerprint: dates.ca, since: past }],
    changedAt: past,
    leaf: undefined,
    stale: [],
  };
  const leaf: ModelObject['leaf'] = {
    fingerprint: dates.leaf,
    issuer: dates.ca,
    chain: behind,
    notBefore: dates.notBefore,
    notAfter: dates.leafEnd,
    spec: '0',
    writtenAt: past,
    issuerSince: past,
    replacedOne: false,
    othersExpire: undefined,
  };
  const authority: AuthorityState = {
    revision: 1,
    generations: [
      {
        number: 1,
        role: 'current',
        anchors: [{ fingerprint: dates.ca, notBefore: dates.notBefore, notAfter: dates.caEnd }],
        hasKey: true,
        since: past,
        ...(theirs.length === 0 || plot.forgetful === true
          ? {}
          : { elsewhere: { objects: theirs, until: dates.leafEnd } }),
      },
    ],
    crosses: behind.map((fingerprint) => ({ of: 1, by: 0, fingerprint, notAfter: dates.caEnd })),
    ids: [],
    distrusts: 0,
    lastGeneration: 1,
  };
  const consumers: Record<string, ModelConsumer> = {};
  for (const [id, nature] of Object.entries(plot.natures)) {
    if (plot.present !== undefined && !plot.present.includes(id)) continue;
    const pod = {
      created: past,
      ending: false,
      pending: false,
      stamp: nature.stamped,
      bundle: nature.verifies === undefined ? [] : [dates.ca],
      chain: nature.presents === undefined ? [] : [dates.leaf, ...behind],
      bundleBehind: undefined,
      leafBehind: undefined,
    };
    const count = nature.unseen === true ? 0 : (nature.pods ?? 1);
    consumers[id] = { pods: Array.from({ length: count }, () => pod), stamp: nature.stamped };
  }
  const initial: State = {
    now: BASE,
    authority: plot.adopted === true ? undefined : authority,
    backup: undefined,
    objects: Object.fromEntries([
      ...secrets.map(
        (id) => [id, { ...held, leaf, ...(isLent(id) ? { revision: undefined } : {}) }] as const,
      ),
      ...(plot.bundles ?? []).map((id) => [id, held] as const),
    ]),
    leaves: Object.fromEntries(
      secrets.filter((id) => !isLent(id)).map((id) => [id, { spec: 0, createdAt: past }]),
    ),
    lent: Object.fromEntries(Object.keys(plot.lent ?? {}).map((id) => [id, { asked: false }])),
    consumers,
    controllers: Array.from({ length: plot.controllers ?? 1 }, () => []),
    views: Array.from({ length: plot.controllers ?? 1 }, () => undefined),
    rotate: [],
    distrust: [],
    bad: [],
    signed: [],
    idle: 0,
    mode: 'honest',
    budget: plot.budget ?? { rotations: 1 },
  };
  return {
    name,
    natures: plot.natures,
    bundles: plot.bundles ?? [],
    policy: {
      patience: duration(1000 * day),
      ...(plot.timeless === true ? { cacheLag: duration(0), reloadWithin: duration(0) } : {}),
      ...plot.policy,
    },
    initial,
    ...(plot.torn === undefined ? {} : { torn: plot.torn }),
    ...(plot.neighbour === undefined ? {} : { neighbour: plot.neighbour }),
    ...(plot.elsewhere === undefined ? {} : { elsewhere: plot.elsewhere }),
    ...(plot.others === undefined ? {} : { others: plot.others }),
    ...(plot.lent === undefined ? {} : { lent: plot.lent }),
    ...(plot.timeless === undefined ? {} : { timeless: plot.timeless }),
    ...(plot.caches === undefined ? {} : { caches: plot.caches }),
    ...(plot.slow === undefined ? {} : { slow: plot.slow }),
    ...clockwork,
  };
};
