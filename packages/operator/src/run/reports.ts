import { isElsewhere } from '@handover/core';
import {
  authorityRef,
  type IssuedEntry,
  isConflict,
  type Outcome,
  type ProfileOutcome,
  vitalsOf,
} from '@handover/engine';
import type { Kube } from '@handover/kube';
import { HandoverError } from '@handover/material';
import type { Compatibility } from '../compat/compatibility.ts';
import { Refusals } from '../compat/refusals.ts';
import { leafIdOf } from '../compat/service-ca.ts';
import { errorsOf, ServiceErrors } from '../compat/service-errors.ts';
import type { KubeHome } from '../home/home.ts';
import type { Declared } from '../resources/declared.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { statusOfBundle } from './bundle-status.ts';
import { EventReporter } from './event-reporter.ts';
import type { OperatorOptions } from './operator-options.ts';
import { statusOfProfile } from './profile-status.ts';
import { SeenWriter } from './seen.ts';
import {
  failingStatus,
  find,
  invalidStatus,
  obstaclesIn,
  statusOfAuthority,
  statusOfLeaves,
} from './status.ts';
import { StatusWriter } from './status-writer.ts';

export interface ReportsOptions {
  readonly operator: OperatorOptions;
  readonly home: KubeHome;
  readonly kube: Kube;
  readonly compat: Compatibility | undefined;
  readonly signal: AbortSignal;
}

/** What whoever leads says of its work: in status, in Events, in annotations that others read, and to whoever started it. */
export class Reports {
  readonly #operator: OperatorOptions;
  readonly #home: KubeHome;
  readonly #compat: Compatibility | undefined;
  /** Resources that somebody handed over have no status to write. */
  readonly #statuses: StatusWriter | undefined;
  readonly #seen: SeenWriter | undefined;
  readonly #telling: EventReporter | undefined;
  readonly #refusals: Refusals;
  readonly #serviceErrors: ServiceErrors;
  readonly #obstacles = new Map<string, readonly string[]>();
  /** Passes in a row that failed, by authority. */
  readonly #failures = new Map<string, number>();

  constructor({ operator, home, kube, compat, signal }: ReportsOptions) {
    this.#operator = operator;
    this.#home = home;
    this.#compat = compat;
    const { identity, namespace, on } = operator;
    const onError = (what: string, error: unknown): void =>
      on({ kind: 'failed', what, error, retryAt: undefined });
    if (operator.declarations === undefined) {
      this.#statuses = new StatusWriter(kube, signal, onError);
      this.#seen = new SeenWriter(kube, namespace, signal, onError);
      this.#telling = new EventReporter({ kube, identity, now: () => home.clock.now(), signal, onError });
    }
    const onRefusal = (object: string, why: string): void => on({ kind: 'refused', object, why });
    this.#refusals = new Refusals({ kube, identity, signal, onRefusal, onError });
    this.#serviceErrors = new ServiceErrors({ kube, signal, onError });
  }

  stop(): void {
    this.#statuses?.stop();
  }

  forget(authority: string): void {
    this.#telling?.forget(authority);
  }

  repaired(resolved: ResolvedResources, keepers: Iterable<string>, object: string, manager: string): void {
    this.#telling?.repaired(resolved, keepers, object, manager);
  }

  issued(resolved: ResolvedResources, entry: IssuedEntry): void {
    this.#telling?.issued(resolved, entry);
  }

  /** What is there to be kept, and what of it nobody can make sense of. */
  resources(resolved: ResolvedResources): void {
    const now = this.#home.clock.now();
    for (const declared of resolved.declared) {
      const problem = resolved.problems.get(declared.uid) ?? orphanhood(resolved, declared);
      if (problem !== undefined) this.#statuses?.put(declared, invalidStatus(declared, problem, now));
      this.#telling?.invalid(declared, problem);
    }
    void this.#refusals.tell(resolved.refusals, now);
    const { serviceCaAuthority } = this.#operator;
    const services = this.#compat?.services;
    if (services === undefined || resolved.catalogue.authorities.has(serviceCaAuthority ?? '')) return;
    const why = `there is no Authority ${serviceCaAuthority}`;
    const errors = new Map(services.all().map((one) => [leafIdOf(one), why]));
    void this.#serviceErrors.tell(services.all(), errors, now);
  }

  async authority(resolved: ResolvedResources, id: string, outcome: Outcome): Promise<void> {
    const { on } = this.#operator;
    const { observation, plan } = outcome;
    this.#failures.delete(id);
    this.#telling?.pass(resolved, id, outcome);
    if (plan.actions.length > 0)
      on({ kind: 'acted', authority: id, actions: plan.actions, plan, observation });
    else on({ kind: 'rested', authority: id, plan, vitals: vitalsOf(observation, plan), observation });
    const obstacles = [...obstaclesIn(observation), ...outcome.refused];
    const before = this.#obstacles.get(id) ?? [];
    if (obstacles.join() !== before.join()) on({ kind: 'obstructed', authority: id, obstacles });
    this.#obstacles.set(id, obstacles);
    await this.#seen?.put(id, observation.seen.consumers, observation.now);
    const declared = find(resolved, 'Authority', id);
    // After a write the next pass, which follows at once, sees how things are.
    if (declared === undefined || plan.actions.some((action) => !isElsewhere(action))) return;
    this.#statuses?.put(declared, statusOfAuthority(declared, observation, plan));
    for (const [leaf, status] of statusOfLeaves(resolved, observation)) this.#statuses?.put(leaf, status);
    const services = this.#compat?.services;
    if (services !== undefined && id === this.#operator.serviceCaAuthority)
      await this.#serviceErrors.tell(services.all(), errorsOf(resolved, observation), this.#home.clock.now());
    await this.bundles(resolved);
  }

  /** A pass that cannot begin: its owner, or an administrator, has to decide something first. */
  refused(resolved: ResolvedResources, id: string, error: unknown): void {
    if (!(error instanceof HandoverError) || isConflict(error)) return;
    const failures = (this.#failures.get(id) ?? 0) + 1;
    this.#failures.set(id, failures);
    const declared = find(resolved, 'Authority', id);
    if (declared === undefined) return;
    const now = this.#home.clock.now();
    if (UNDECIDED.test(error.code))
      this.#statuses?.put(declared, invalidStatus(declared, error.message, now));
    // What was said last may no longer be so.
    else if (failures >= MOST_FAILURES)
      this.#statuses?.put(declared, failingStatus(declared, error.message, now));
  }

  async bundles(resolved: ResolvedResources): Promise<void> {
    for (const bundle of resolved.catalogue.trustBundles) {
      const declared = find(resolved, 'TrustBundle', bundle.metadata.name);
      if (declared === undefined) continue;
      const status = await statusOfBundle(this.#home, resolved, declared, bundle);
      this.#statuses?.put(declared, status);
      this.#telling?.bundle(declared, status);
    }
  }

  profile(id: string, outcome: ProfileOutcome): void {
    const { actions } = outcome.plan;
    if (actions.length > 0) this.#operator.on({ kind: 'profiled', profile: id, actions });
    const declared = this.#home.declared('TLSProfile', id);
    if (declared !== undefined)
      this.#statuses?.put(declared, statusOfProfile(declared, outcome, this.#home.clock.now()));
  }
}

const MOST_FAILURES = 3;
/** Codes of errors that stand until a person has done something. */
const UNDECIDED = /^(STATE|ADOPT)_/;

/** Why nobody will ever take care of a Leaf. */
const orphanhood = ({ catalogue }: ResolvedResources, { resource }: Declared): string | undefined => {
  if (resource?.kind !== 'Leaf') return undefined;
  const id = authorityRef(resource.spec.authority, resource.metadata.namespace);
  return catalogue.authorities.has(id)
    ? undefined
    : `spec.authority: there is no Authority ${id}; make it, or name another`;
};
