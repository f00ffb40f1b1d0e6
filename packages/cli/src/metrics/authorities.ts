import { type Phase, SERVING_STATES, STANDS_ON } from '@handover/core';
import type { LeafValidity, Vitals } from '@handover/engine';
import { Gauge, type Registry } from 'prom-client';
import { METRICS, type MetricName } from './names.ts';

const PHASES = [
  'Pending',
  'Stable',
  'Introducing',
  'Activating',
  'Retiring',
] as const satisfies readonly Phase[];
/** A scrape must stay small with any number of Leaves: those that expire first matter. */
const MOST_LEAVES = 2_000;
const MOST_BLOCKERS = 50;
const MOST_SERVED = 500;
const MOST_AUTHORITIES = 1_000;
/** Each authority is looked at every half minute at least: after this long without a look it is gone. */
const FORGET_MS = 600_000;

interface Known {
  readonly vitals: Vitals;
  readonly phaseSince: number;
  readonly heardAt: number;
  readonly obstacles: number;
}

const namespaceOf = (id: string): string => id.split('/', 1)[0] ?? '';

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

/** The worst first. */
const servedIn = ({ served }: Vitals): Vitals['served'] =>
  [...served]
    .sort(
      (a, b) =>
        Number(b.wrong) - Number(a.wrong) ||
        SERVING_STATES.indexOf(b.state) - SERVING_STATES.indexOf(a.state),
    )
    .slice(0, MOST_SERVED);

/** Gauges of authorities, made at each scrape from the last look at each. */
export class AuthorityGauges {
  readonly #known = new Map<string, Known>();
  readonly #now: () => number;

  constructor(resolved: Registry, now: () => number) {
    this.#now = now;
    const gauge = (which: MetricName, samples: () => Iterable<Sample>): void => {
      const [name, help, labelNames] = METRICS[which];
      new Gauge({
        name,
        help,
        labelNames,
        registers: [resolved],
        collect() {
          this.reset();
          for (const [labels, value] of samples()) this.set(labels, value);
        },
      });
    };
    const each = (of: (known: Known, labels: Labels) => readonly Sample[]) => () =>
      this.#all().flatMap(([authority, known]) => of(known, { authority }));
    gauge(
      'phase',
      each(({ vitals }, labels) =>
        PHASES.map((phase) => [{ ...labels, phase }, vitals.phase === phase ? 1 : 0]),
      ),
    );
    gauge(
      'phaseSince',
      each(({ phaseSince }, labels) => [[labels, phaseSince / 1000]]),
    );
    for (const [which, date] of [
      ['caExpiry', 'notAfter'],
      ['caStart', 'notBefore'],
    ] as const)
      gauge(
        which,
        each(({ vitals }, labels) =>
          vitals.generations.map(({ number, role, [date]: at }) => [
            { ...labels, generation: String(number), role },
            at / 1000,
          ]),
        ),
      );
    gauge(
      'retainedUntil',
      each(({ vitals }, labels) =>
        vitals.retained.map(({ generation, until }) => [
          { ...labels, generation: String(generation) },
          until / 1000,
        ]),
      ),
    );
    gauge(
      'retainedWorkloads',
      each(({ vitals }, labels) =>
        vitals.retained.map(({ generation, workloads }) => [
          { ...labels, generation: String(generation) },
          workloads,
        ]),
      ),
    );
    gauge('leafExpiry', () => this.#leaves('notAfter'));
    gauge('leafStart', () => this.#leaves('notBefore'));
    gauge(
      'leavesMissing',
      each(({ vitals }, labels) => [
        [labels, vitals.leaves.filter(({ valid }) => valid === undefined).length],
      ]),
    );
    gauge(
      'blocked',
      each(({ vitals }, labels) => [[labels, vitals.blockers.length]]),
    );
    gauge(
      'blockingSince',
      each(({ vitals }, labels) =>
        vitals.blockers
          .slice(0, MOST_BLOCKERS)
          .map(({ consumer, since }) => [{ ...labels, consumer }, since / 1000]),
      ),
    );
    gauge(
      'consumers',
      each(({ vitals }, labels) =>
        [...vitals.evidence].map(([evidence, count]) => [
          { ...labels, evidence, stands: evidence === 'none' ? 'none' : STANDS_ON[evidence] },
          count,
        ]),
      ),
    );
    gauge(
      'shownExpiry',
      each(({ vitals }, labels) =>
        servedIn(vitals).flatMap(({ consumer, notAfter }) =>
          notAfter === undefined ? [] : [[{ ...labels, consumer }, notAfter / 1000] as const],
        ),
      ),
    );
    gauge(
      'shownState',
      each(({ vitals }, labels) =>
        servedIn(vitals).map(({ consumer, state, wrong }) => [{ ...labels, consumer, state }, wrong ? 1 : 0]),
      ),
    );
    gauge(
      'obstacles',
      each(({ obstacles }, labels) => [[labels, obstacles]]),
    );
  }

  heard(id: string, vitals: Vitals): void {
    const before = this.#known.get(id);
    if (before === undefined && this.#known.size >= MOST_AUTHORITIES && !this.#makeRoom(namespaceOf(id)))
      return;
    const now = this.#now();
    const same = before?.vitals.phase === vitals.phase ? before.phaseSince : now;
    this.#known.set(id, {
      vitals,
      phaseSince: vitals.phaseSince ?? same,
      heardAt: now,
      obstacles: before?.obstacles ?? 0,
    });
  }

  /** The namespace with most authorities gives up its last one, unless the newcomer is its own: no namespace takes the alarms of others away. */
  #makeRoom(newcomer: string): boolean {
    const counts = new Map<string, number>();
    for (const id of this.#known.keys()) counts.set(namespaceOf(id), (counts.get(namespaceOf(id)) ?? 0) + 1);
    const [largest, most] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one));
    if (most <= (counts.get(newcomer) ?? 0) + 1) return false;
    const last = [...this.#known.keys()].findLast((id) => namespaceOf(id) === largest);
    return last !== undefined && this.#known.delete(last);
  }

  /** Between acting and the next rest only the phase is known. */
  moved(id: string, phase: Phase): void {
    const before = this.#known.get(id);
    if (before === undefined || before.vitals.phase === phase) return;
    this.heard(id, { ...before.vitals, phase, phaseSince: undefined });
  }

  obstructed(id: string, obstacles: number): void {
    const before = this.#known.get(id);
    if (before !== undefined) this.#known.set(id, { ...before, obstacles });
  }

  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#known.keys()) if (!ids.has(id)) this.#known.delete(id);
  }

  #all(): readonly (readonly [string, Known])[] {
    const oldest = this.#now() - FORGET_MS;
    return [...this.#known].filter(([, { heardAt }]) => heardAt >= oldest);
  }

  /** Of each namespace those that expire first: the first of each, then the second of each, until there is no more room. */
  #leaves(date: keyof LeafValidity): readonly Sample[] {
    const ranks = new Map<string, number>();
    return this.#all()
      .flatMap(([authority, { vitals }]) =>
        vitals.leaves.flatMap(({ leaf, valid }) =>
          valid === undefined ? [] : [{ labels: { leaf, authority }, valid }],
        ),
      )
      .sort((a, b) => a.valid.notAfter - b.valid.notAfter)
      .map((one) => {
        const namespace = namespaceOf(one.labels.leaf);
        const rank = ranks.get(namespace) ?? 0;
        ranks.set(namespace, rank + 1);
        return { ...one, rank };
      })
      .sort((a, b) => a.rank - b.rank)
      .slice(0, MOST_LEAVES)
      .map(({ labels, valid }) => [labels, valid[date] / 1000]);
  }
}
