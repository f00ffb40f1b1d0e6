import { type Blocker, type Plan, renewalDueAt, rotationDueAt, waitingText } from '@handover/core';
import { type Duration, day, hour, type Instant, iso } from '@handover/material';
import type { Observation } from '../observe/observe.ts';
import { servingsIn } from '../observe/servings.ts';
import type { Unusable } from '../snapshot/catalogue.ts';
import { type HookStatus, hookStanding } from '../snapshot/hook-status.ts';
import { hooksIn } from '../snapshot/hooks.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { alteredIn } from './damage.ts';
import { servingRemedy } from './servings.ts';
import type { AuthorityStanding } from './status.ts';
import { unusableLine } from './unusable.ts';

/** Waits of a state that is older than the objects made from it. Only a person can end them: nothing is written on top of a newer object. */
export const aheadIn = ({ blockedBy }: Plan, { record, seen }: Observation): readonly Blocker[] => {
  if (record === undefined) return [];
  const ahead = new Set(
    seen.objects.filter(({ revision = 0 }) => revision > record.state.revision).map(({ id }) => id),
  );
  return blockedBy.filter(({ consumer }) => ahead.has(consumer));
};

/** In the order of Nagios' exit codes. */
export type Severity = 'warning' | 'critical';

/** Something that a person should look at. */
export interface HealthFinding {
  readonly severity: Severity;
  /** Null: it is about a resource of another kind, which the text names. */
  readonly authority: string | null;
  readonly text: string;
}

/** How long before its end a certificate is worth a word. */
export interface Thresholds {
  readonly warn: Duration;
  readonly critical: Duration;
}

/**
 * What is left of a certificate's life when it is due for renewal, and how much of that may be left before it is late: a
 * certificate of a day would otherwise always be about to expire.
 */
const SHARES = { warn: 0.9, critical: 0.5 } as const;

const closeTo = (
  what: string,
  { notAfter, due }: { readonly notAfter: Instant; readonly due: number },
  { warn, critical }: Thresholds,
  now: Instant,
): Omit<HealthFinding, 'authority'> | undefined => {
  const left = notAfter - now;
  const spare = Math.max(0, notAfter - due);
  const text = `${what} expires at ${iso(notAfter)}`;
  if (left <= 0) return { severity: 'critical', text: text.replace(' expires at ', ' expired at ') };
  if (left <= Math.min(critical, spare * SHARES.critical)) return { severity: 'critical', text };
  return left <= Math.min(warn, spare * SHARES.warn) ? { severity: 'warning', text } : undefined;
};

const datesOf = (
  { observation }: AuthorityStanding,
  thresholds: Thresholds,
): readonly (Omit<HealthFinding, 'authority'> | undefined)[] => {
  const { responsibilities, record, seen, now } = observation;
  const { policy, leaves } = responsibilities;
  const objects = new Map(seen.objects.map((object) => [object.id, object]));
  const cas = (record?.state.generations ?? [])
    .filter(({ role }) => role === 'current' || role === 'previous')
    .map((generation) =>
      closeTo(
        `CA generation ${generation.number}`,
        { notAfter: generation.anchors[0].notAfter, due: rotationDueAt(generation, policy) },
        thresholds,
        now,
      ),
    );
  const held = [...leaves].map(([object, { spec }]) => {
    const leaf = objects.get(object)?.leaf;
    if (leaf === undefined) return undefined;
    const dates = { notAfter: leaf.notAfter, due: renewalDueAt(leaf, spec.renew.at) };
    return closeTo(object, dates, thresholds, now);
  });
  return [...cas, ...held];
};

/** A step that has waited longer than its owner has patience, or a wait that nothing ends by itself: outside any rotation, or over a state that is too old. */
const waitsOf = ({ plan, observation }: AuthorityStanding): readonly Omit<HealthFinding, 'authority'>[] => {
  const { now, responsibilities } = observation;
  const isStuck = plan.phase === 'Stable' || plan.phase === 'Pending';
  const ahead = aheadIn(plan, observation);
  const stuck = plan.blockedBy.filter(
    (blocker) => isStuck || ahead.includes(blocker) || now - blocker.since > responsibilities.policy.patience,
  );
  return stuck.length === 0 ? [] : [{ severity: 'warning', text: `blocked: ${waitingText(stuck)}` }];
};

const NAMED = 3;
/** A server of another namespace is the business of its owners: docs/decisions/0401. */
const servedWrong = (observation: Observation): readonly Omit<HealthFinding, 'authority'>[] => {
  const blocking = new Set(observation.seen.consumers.flatMap(({ id, blocks }) => (blocks ? [id] : [])));
  return [...servingsIn(observation)].flatMap(([consumer, all]) => {
    const wrong = blocking.has(consumer) ? all.filter((one) => one.wrong) : [];
    return wrong.slice(0, NAMED).map((one) => ({
      severity:
        one.state === 'older' || one.reason === 'not-asked' || one.reason === 'unread'
          ? ('warning' as const)
          : ('critical' as const),
      text: `${one.instance === consumer ? consumer : `${consumer} (${one.instance})`} ${one.text}${wrong.length > NAMED ? `, and ${wrong.length - 1} more of it` : ''}; ${servingRemedy(one)}`,
    }));
  });
};

/** Verifiers that show CAs, and not the one that has signed everything for longer than they may take to load it: they refuse their clients. */
const distrusting = ({
  seen,
  record,
  responsibilities,
  now,
}: Observation): readonly Omit<HealthFinding, 'authority'>[] => {
  const [current, ...others] = record?.state.generations ?? [];
  const { reloadWithin } = responsibilities.policy;
  // In a rotation the plan says who waits for what.
  if (current === undefined || others.length > 0 || now < current.since + reloadWithin) return [];
  const isOurs = (anchor: string): boolean =>
    current.anchors.some(({ fingerprint }) => fingerprint === anchor);
  return seen.consumers.flatMap(({ id, blocks, verifies, instances }) => {
    if (!blocks || verifies.length === 0) return [];
    const lacks = instances.some(({ proofs, unread }) => {
      const shown = proofs.filter(({ by, anchors }) => by === 'acknowledged' || anchors !== undefined);
      if (shown.length === 0) return false;
      const anchors = shown.flatMap((proof) => proof.anchors ?? []);
      return anchors.length > 0 ? !anchors.some(isOurs) : unread?.trust !== undefined;
    });
    return lacks
      ? [
          {
            severity: 'warning' as const,
            text: `${id} shows that it does not trust CA generation ${current.number}, and refuses what this authority signs; let it load the bundle, or drop verifies from its consumer`,
          },
        ]
      : [];
  });
};

const damageIn = (observation: Observation): readonly Omit<HealthFinding, 'authority'>[] =>
  alteredIn(observation).map(({ object, problem }) => ({
    severity: 'critical',
    text: `${object}: ${problem}`,
  }));

const failedOf = (hooks: readonly HookStatus[]): readonly Omit<HealthFinding, 'authority'>[] =>
  hooks
    .filter(({ state }) => state === 'failed')
    .map(({ hook, message }) => ({
      severity: 'warning',
      text: `the hook of ${hook} fails: ${message ?? 'no message'}`,
    }));

/** Hooks that belong to none of these authorities: those of a TrustBundle that is made of other sources. */
export const otherHooksIn = async (
  snapshot: Snapshot,
  found: readonly AuthorityStanding[],
): Promise<readonly HealthFinding[]> => {
  const known = new Set(found.flatMap(({ status }) => status.hooks.map(({ hook }) => hook)));
  const others = snapshot.hooks === undefined ? [] : hooksIn(snapshot.catalogue);
  const hooks = others.filter(({ name }) => !known.has(name)).map((hook) => hookStanding(snapshot, hook));
  return failedOf(await Promise.all(hooks)).map((finding) => ({ ...finding, authority: null }));
};

/** What is wrong with one authority, the worst first. `idle`: for how long nothing has run here, where that is too long. */
export const findingsIn = (
  standing: AuthorityStanding,
  thresholds: Thresholds,
  idle?: number | undefined,
): readonly HealthFinding[] => {
  const { status, observation } = standing;
  const { seen, responsibilities } = observation;
  const found: readonly (Omit<HealthFinding, 'authority'> | undefined)[] = [
    ...status.notReady.map((text) => ({ severity: 'critical' as const, text })),
    ...damageIn(observation),
    ...servedWrong(observation),
    ...distrusting(observation),
    ...datesOf(standing, thresholds),
    ...(seen.clockDoubt === undefined
      ? []
      : [
          {
            severity: 'warning' as const,
            text:
              idle === undefined
                ? 'the clock is in doubt: it jumped ahead; see handover clock'
                : `nothing has run here for ${longTime(idle)}, or the clock jumped ahead by that: if it is right, handover clock --confirm, and start handover run`,
          },
        ]),
    ...responsibilities.refused.map(({ leaf, why }) => ({
      severity: 'critical' as const,
      text: `${leaf}: ${why}`,
    })),
    ...waitsOf(standing),
    ...failedOf(status.hooks),
    ...seen.objects.flatMap(({ id, obstacle }) =>
      obstacle === undefined ? [] : [{ severity: 'warning' as const, text: `${id}: ${obstacle}` }],
    ),
  ];
  const said = new Map(
    found.flatMap((one) =>
      one === undefined ? [] : [[one.text, { ...one, authority: responsibilities.id }] as const],
    ),
  );
  return [...said.values()].sort((a, b) => rank(a) - rank(b));
};

/** A resource that cannot be used, or names one that is not declared, gets no certificates, and none are renewed for it. */
export const findingOf = (unusable: Unusable): HealthFinding => {
  const { kind, id, code, message } = unusable;
  return kind === 'Authority'
    ? { severity: 'critical', authority: id, text: `${code}: ${message}` }
    : { severity: 'critical', authority: null, text: unusableLine(unusable) };
};

/** Without a process nothing is renewed, unless a timer starts one: most start it each day. */
const UNATTENDED_MS = 25 * hour;

/** For how long nothing has run here; undefined: something does, or did not long ago. */
export const idleIn = ({ run, now }: Pick<Snapshot, 'run' | 'now'>): number | undefined => {
  const { pid, lastAt } = run?.() ?? {};
  const idle = lastAt === undefined ? 0 : now - lastAt;
  return pid !== undefined || idle < UNATTENDED_MS ? undefined : idle;
};

/** What the process that works here knows of its failures, and whether there is one. `said`: what is reported beside it. */
export const runFindings = (
  { run, now }: Snapshot,
  said: readonly string[] = [],
): readonly HealthFinding[] => {
  if (run === undefined) return [];
  const { lastAt, problems } = run();
  const idle = idleIn({ run, now });
  return [
    ...problems
      .filter(({ message }) => !said.some((text) => text.includes(message) || message.includes(text)))
      .map(({ code, message, since }) => ({
        severity: code === 'OBJECT_OBSTACLE' ? ('warning' as const) : ('critical' as const),
        authority: null,
        text: `${code}: ${message} (since ${iso(since)})`,
      })),
    ...(idle === undefined || lastAt === undefined
      ? []
      : [
          {
            severity: 'warning' as const,
            authority: null,
            text: `nothing has run here for ${longTime(idle)} (since ${iso(lastAt)}); start handover run`,
          },
        ]),
  ];
};

const longTime = (ms: number): string =>
  ms >= 2 * day ? `${Math.floor(ms / day)} days` : `${Math.floor(ms / hour)} h`;

const rank = ({ severity }: HealthFinding): number => (severity === 'critical' ? 0 : 1);
