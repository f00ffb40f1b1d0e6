import { INJECTABLE_PLURALS } from '@handover/core';
import { type ControllerEvent, type HookStatus, hooksIn, type Meters } from '@handover/engine';
import type { ReloadReport, RequestReport } from '@handover/kube';
import { HandoverError } from '@handover/material';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { AuthorityGauges } from './authorities.ts';
import { METRICS, type MetricName } from './names.ts';

const MOST_HOOKS = 1_000;

/** Which hooks fail, from how each ended last. */
class HookGauges {
  readonly #known = new Set<string>();
  readonly #failing: Gauge;

  constructor(register: Registry) {
    const [name, help, labelNames] = METRICS.hookFailing;
    this.#failing = new Gauge({ name, help, labelNames, registers: [register] });
  }

  heard({ hook, state }: HookStatus): void {
    if (!this.#known.has(hook) && this.#known.size >= MOST_HOOKS) return;
    this.#known.add(hook);
    this.#failing.set({ hook }, state === 'failed' ? 1 : 0);
  }

  keepOnly(hooks: ReadonlySet<string>): void {
    for (const hook of this.#known) {
      if (hooks.has(hook)) continue;
      this.#known.delete(hook);
      this.#failing.remove({ hook });
    }
  }
}

interface MetricsOptions {
  readonly version: string;
  readonly now: () => number;
}

/** Kinds that appear in an object's id. */
const KINDS = ['secrets', 'configmaps', 'clustertrustbundles', ...INJECTABLE_PLURALS];
const kindOf = (object: string): string => {
  const parts = object.toLowerCase().split('/');
  return KINDS.find((kind) => parts.includes(kind)) ?? 'other';
};

/** HandoverError codes are constants; other errors must not become labels. */
const codeOf = (error: unknown): string => (error instanceof HandoverError ? error.code : 'INTERNAL');

const counter = (register: Registry, which: MetricName): Counter => {
  const [name, help, labelNames] = METRICS[which];
  return new Counter({ name, help, labelNames, registers: [register] });
};

/** Without the observation, which holds private keys. */
type Heard<E> = E extends unknown ? Omit<E, 'observation'> : never;

/** All metrics of one process. The only place that uses prom-client (docs/decisions/0901). */
export class Metrics {
  readonly #register = new Registry();
  readonly #authorities: AuthorityGauges;
  readonly #hooks: HookGauges;
  readonly #decisions: Counter;
  readonly #repairs: Counter;
  readonly #reloads: Counter;
  readonly #probes: Counter;
  readonly #failures: Counter;
  readonly #requests: Counter;
  readonly #requestSeconds: Histogram;
  readonly #leading: Gauge;
  #page: Promise<{ readonly contentType: string; readonly body: string }> | undefined;
  #queue: () => { readonly due: number; readonly planned: number } = () => ({ due: 0, planned: 0 });

  constructor({ version, now }: MetricsOptions) {
    const register = this.#register;
    this.#authorities = new AuthorityGauges(register, now);
    this.#hooks = new HookGauges(register);
    this.#decisions = counter(register, 'decisions');
    this.#repairs = counter(register, 'repairs');
    this.#reloads = counter(register, 'reloads');
    this.#probes = counter(register, 'probes');
    this.#failures = counter(register, 'failures');
    this.#requests = counter(register, 'requests');
    const [name, help, labelNames] = METRICS.requestSeconds;
    const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10];
    this.#requestSeconds = new Histogram({ name, help, labelNames, buckets, registers: [register] });
    this.#leading = this.#gauge('leading');
    this.#gauge('info').set({ version }, 1);
    this.#gauge('queueDepth', () => this.#queue().due);
    this.#gauge('queuePlanned', () => this.#queue().planned);
    collectDefaultMetrics({ register });
  }

  #gauge(which: MetricName, value?: () => number): Gauge {
    const [name, help, labelNames] = METRICS[which];
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames,
      registers: [this.#register],
      ...(value === undefined ? {} : { collect: () => gauge.set(value()) }),
    });
    return gauge;
  }

  readonly meters: Meters = {
    asked: (how, result) => this.#probes.inc({ how, result }),
    told: (how, result) =>
      this.#reloads.inc({
        what: `hook_${how}`,
        result: result === 'done' ? 'done' : 'failed',
        reason: result,
      }),
    queue: (depth) => {
      this.#queue = depth;
    },
  };

  readonly onRequest = ({ verb, resource, status, ms }: RequestReport): void => {
    this.#requests.inc({ verb, resource, code: status === 0 ? 'none' : String(status) });
    this.#requestSeconds.observe({ verb }, ms / 1000);
  };

  readonly onReload = ({ what, reason, error }: ReloadReport): void =>
    this.#reloads.inc({ what, result: error === undefined ? 'done' : 'failed', reason });

  readonly on = (event: Heard<ControllerEvent>): void => {
    switch (event.kind) {
      case 'loaded':
        this.#leading.set(1);
        this.#authorities.keepOnly(new Set(event.catalogue.authorities.keys()));
        this.#hooks.keepOnly(new Set(hooksIn(event.catalogue).map(({ name }) => name)));
        return;
      case 'leading':
        this.#leading.set(event.held ? 1 : 0);
        // A replica that does not lead has no current figures.
        if (!event.held) this.#authorities.keepOnly(new Set());
        return;
      case 'acted':
        for (const { kind } of event.actions) this.#decisions.inc({ action: kind });
        this.#authorities.moved(event.authority, event.plan.phase);
        return;
      case 'profiled':
        for (const { kind } of event.actions) this.#decisions.inc({ action: kind });
        return;
      case 'rested':
        this.#authorities.heard(event.authority, event.vitals);
        return;
      case 'repaired':
        this.#repairs.inc({ kind: kindOf(event.object) });
        return;
      case 'obstructed':
        this.#authorities.obstructed(event.authority, event.obstacles.length);
        return;
      case 'failed':
        this.#failures.inc({ code: codeOf(event.error) });
        return;
      case 'started':
      case 'refused':
      case 'issued':
        return;
      case 'hooked':
        this.#hooks.heard(event.hook);
        return;
      default:
        event satisfies never;
    }
  };

  /** Concurrent scrapes share one page. */
  page(): Promise<{ readonly contentType: string; readonly body: string }> {
    this.#page ??= this.#register
      .metrics()
      .then((body) => ({ contentType: this.#register.contentType, body }))
      .finally(() => {
        this.#page = undefined;
      });
    return this.#page;
  }
}
