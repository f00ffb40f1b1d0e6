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
import type { Register } from '../resources/resolved-resources.ts';
import { statusOfBundle } from './bundle-status.ts';
import { Telling } from './event-reporter.ts';
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
  readonly #telling: Telling | undefined;
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
      this.#telling = new Telling({ kube, identity, now: () => home.clock.now(), signal, onError });
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

  repaired(register: Register, keepers: Iterable<string>, object: string, manager: string): void {
    this.#telling?.repaired(register, keepers, object, manager);
  }

  issued(register: Register, entry: IssuedEntry): void {
    this.#telling?.issued(register, entry);
  }

  /** What is there to be kept, and what of it nobody can make sense of. */
  resources(register: Register): void {
    const now = this.#home.clock.now();
    for (const declared of register.declared) {
      const problem = register.problems.get(declared.uid) ?? orphanhood(register, declared);
      if (problem !== undefined) this.#statuses?.put(declared, invalidStatus(declared, problem, now));
      this.#telling?.invalid(declared, problem);
    }
    void this.#refusals.tell(register.refusals, now);
    const { serviceCaAuthority } = this.#operator;
    const services = this.#compat?.services;
    if (services === undefined || register.catalogue.authorities.has(serviceCaAuthority ?? '')) return;
    const why = `there is no Authority ${serviceCaAuthority}`;
    const errors = new Map(services.all().map((one) => [leafIdOf(one), why]));
    void this.#serviceErrors.tell(services.all(), errors, now);
  }

  async authority(register: Register, id: string, outcome: Outcome): Promise<void> {
    const { on } = this.#operator;
    const { sight, plan } = outcome;
    this.#failures.delete(id);
    this.#telling?.pass(register, id, outcome);
    if (plan.actions.length > 0) on({ kind: 'acted', authority: id, actions: plan.actions, plan, sight });
    else on({ kind: 'rested', authority: id, plan, vitals: vitalsOf(sight, plan), sight });
    const obstacles = [...obstaclesIn(sight), ...outcome.refused];
    const before = this.#obstacles.get(id) ?? [];
    if (obstacles.join() !== before.join()) on({ kind: 'obstructed', authority: id, obstacles });
    this.#obstacles.set(id, obstacles);
    await this.#seen?.put(id, sight.seen.consumers, sight.now);
    const declared = find(register, 'Authority', id);
    // After a write the next pass, which follows at once, sees how things are.
    if (declared === undefined || plan.actions.some((action) => !isElsewhere(action))) return;
    this.#statuses?.put(declared, statusOfAuthority(declared, sight, plan));
    for (const [leaf, status] of statusOfLeaves(register, sight)) this.#statuses?.put(leaf, status);
    const services = this.#compat?.services;
    if (services !== undefined && id === this.#operator.serviceCaAuthority)
      await this.#serviceErrors.tell(services.all(), errorsOf(register, sight), this.#home.clock.now());
    await this.bundles(register);
  }

  /** A pass that cannot begin: its owner, or an administrator, has to decide something first. */
  refused(register: Register, id: string, error: unknown): void {
    if (!(error instanceof HandoverError) || isConflict(error)) return;
    const failures = (this.#failures.get(id) ?? 0) + 1;
    this.#failures.set(id, failures);
    const declared = find(register, 'Authority', id);
    if (declared === undefined) return;
    const now = this.#home.clock.now();
    if (UNDECIDED.test(error.code))
      this.#statuses?.put(declared, invalidStatus(declared, error.message, now));
    // What was said last may no longer be so.
    else if (failures >= MOST_FAILURES)
      this.#statuses?.put(declared, failingStatus(declared, error.message, now));
  }

  async bundles(register: Register): Promise<void> {
    for (const bundle of register.catalogue.trustBundles) {
      const declared = find(register, 'TrustBundle', bundle.metadata.name);
      if (declared === undefined) continue;
      const status = await statusOfBundle(this.#home, register, declared, bundle);
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
const orphanhood = ({ catalogue }: Register, { resource }: Declared): string | undefined => {
  if (resource?.kind !== 'Leaf') return undefined;
  const id = authorityRef(resource.spec.authority, resource.metadata.namespace);
  return catalogue.authorities.has(id)
    ? undefined
    : `spec.authority: there is no Authority ${id}; make it, or name another`;
};
