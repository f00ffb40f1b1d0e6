import { Contended, MOST_NAMED, type TlsProfile, type TrustBundle } from '@handover/core';
import {
  type AuthorityOutcome,
  authorityRef,
  bundleKeyOf,
  extrasOf,
  idOf,
  isConflict,
  keyText,
  type Listener,
  leftOutAuthority,
  type ProfileOutcome,
  type ResourceKey,
  readableCertificates,
  targetsOf,
} from '@handover/engine';
import { bundleOf, HandoverError } from '@handover/material';
import { Refusals } from '../compat/refusals.ts';
import { leafIdOf } from '../compat/service-ca.ts';
import { errorsOf, ServiceErrors } from '../compat/service-errors.ts';
import type { KubeHome } from '../home/home.ts';
import type { PodSigningOptions } from '../pod-certificates/signer.ts';
import type { Declared } from '../resources/declared.ts';
import type { Absent, ResolvedResources } from '../resources/resolved-resources.ts';
import { afterTrying } from './after-trying.ts';
import { EventReporter } from './event-reporter.ts';
import { EvidenceWriter } from './evidence-configmap.ts';
import type { LeaderSessionOptions } from './leader-session.ts';
import { statusOfProfile } from './profile-status.ts';
import {
  type AnyStatus,
  conditionsOf,
  failingStatus,
  find,
  invalidStatus,
  obstaclesIn,
  statusOfAuthority,
  statusOfLeaves,
  type Verdict,
  verdict,
} from './status.ts';
import { StatusWriter } from './status-writer.ts';

/** What is wrong with a source that is no Authority; then the targets stay as they are. */
const missingOf = async (home: KubeHome, bundle: TrustBundle): Promise<string | undefined> => {
  const sources = bundle.spec.sources.filter(({ authority }) => authority === undefined);
  if (sources.length === 0) return undefined;
  const { missing } = await extrasOf(
    await home.cached(),
    { ...bundle, spec: { ...bundle.spec, sources } },
    undefined,
  );
  return missing;
};

const readiness = (missing: string | undefined, failing: readonly Absent[], ready: number): Verdict => {
  if (missing !== undefined)
    return verdict('Ready', false, 'SourceMissing', `${missing}; the targets stay as they are`);
  const [first] = failing;
  if (first === undefined)
    return verdict(
      'Ready',
      true,
      'Written',
      ready === 1 ? 'the target holds the bundle' : `all ${ready} targets hold the bundle`,
    );
  return verdict(
    'Ready',
    false,
    'TargetsFailing',
    `${failing.length} of ${failing.length + ready} targets failed, such as ${first.target}: ${first.why}`,
  );
};

/** Status of a TrustBundle: how many of its targets hold something, and which cannot be written. */
const statusOfBundle = async (
  home: KubeHome,
  resolved: ResolvedResources,
  declared: Declared,
  bundle: TrustBundle,
): Promise<AnyStatus> => {
  const { catalogue } = resolved;
  const failing = [...(resolved.absent.get(bundle.metadata.name) ?? [])];
  const contended: string[] = [];
  let ready = 0;
  let sample: Uint8Array | undefined;
  for (const id of targetsOf(bundle, catalogue)) {
    const stored = await home.cachedObjects.read(id);
    const refused = stored === undefined ? home.store.obstacles.last(id) : undefined;
    if (refused !== undefined) failing.push({ target: id, why: refused });
    else if (stored?.obstacle !== undefined) {
      failing.push({ target: id, why: String(stored.obstacle) });
      if (stored.obstacle instanceof Contended) contended.push(`${id}: ${stored.obstacle}`);
    } else if (stored?.record === undefined) failing.push({ target: id, why: 'not written yet' });
    else {
      ready++;
      sample ??= stored.data[bundleKeyOf(id)] ?? Object.values(stored.data)[0];
    }
  }
  const certificates = readableCertificates(sample);
  const verdicts = [
    readiness(await missingOf(home, bundle), failing, ready),
    ...(contended.length === 0
      ? []
      : [verdict('Contended', true, 'ForeignManager', contended.slice(0, 3).join('; '))]),
  ];
  return {
    observedGeneration: declared.generation,
    ...(certificates.length === 0
      ? {}
      : { hash: bundleOf(certificates).hash, certificates: certificates.length }),
    targets: { ready, failing: failing.length },
    failing: failing.slice(0, MOST_NAMED).map(({ target, why }) => ({ target, why: why.slice(0, 1_000) })),
    conditions: conditionsOf(declared, verdicts, home.clock.now()),
  };
};

interface ReportsOptions extends LeaderSessionOptions {
  readonly signal: AbortSignal;
  readonly onError: (what: string, error: unknown) => void;
}

/** What the leader says of its work in the cluster: in status, in Events, and in annotations that others read. */
export class Reports {
  readonly #options: ReportsOptions;
  /** Resources that a caller handed over have no status to write. */
  readonly #statuses: StatusWriter | undefined;
  readonly #seen: EvidenceWriter | undefined;
  readonly #events: EventReporter | undefined;
  readonly #refusals: Refusals;
  readonly #serviceErrors: ServiceErrors;
  readonly #obstacles = new Map<string, readonly string[]>();
  /** Passes in a row that failed, by resource. */
  readonly #failures = new Map<string, number>();
  #resolved: ResolvedResources | undefined;

  constructor(options: ReportsOptions) {
    this.#options = options;
    const { operator, home, kube, signal, on, onError } = options;
    const { identity, namespace } = operator;
    if (operator.scope?.declarations === undefined) {
      this.#statuses = new StatusWriter(kube, signal, onError);
      this.#seen = new EvidenceWriter(kube, namespace, signal, onError);
      this.#events = new EventReporter({ kube, identity, now: () => home.clock.now(), signal, onError });
    }
    const onRefusal = (object: string, why: string): void => on({ kind: 'refused', object, why });
    this.#refusals = new Refusals({ kube, identity, signal, onRefusal, onError });
    this.#serviceErrors = new ServiceErrors({ kube, signal, onError });
  }

  stop(): void {
    this.#statuses?.stop();
  }

  forget({ kind, id }: ResourceKey): void {
    this.#failures.delete(keyText({ kind, id }));
    if (kind !== 'Authority') return;
    this.#events?.forget(id);
    this.#obstacles.delete(id);
  }

  /** The resources that Events are about. */
  knows(resolved: ResolvedResources): void {
    this.#resolved = resolved;
  }

  /** Kubernetes Events. */
  readonly heard: Listener = (event) => {
    if (this.#resolved !== undefined)
      this.#events?.heard(event, this.#resolved, (object) => this.#options.router.keepersOf(object));
  };

  /** On the pod that waits for its certificate, or does not get it. */
  readonly podCertificate: PodSigningOptions['tell'] = (request, verdict) =>
    this.#events?.podCertificate(request, verdict);

  /** Which resources there are, and which of them are invalid. */
  resources(resolved: ResolvedResources): void {
    this.knows(resolved);
    const { home, compat, operator } = this.#options;
    const now = home.clock.now();
    for (const declared of resolved.declared) {
      const problem = resolved.problems.get(declared.uid) ?? orphanhood(resolved, declared);
      if (problem !== undefined) this.#statuses?.put(declared, invalidStatus(declared, problem, now));
      this.#events?.invalid(declared, problem);
    }
    void this.#refusals.tell(resolved.refusals, now);
    const { serviceCaAuthority } = operator.injection ?? {};
    const services = compat?.services;
    if (services === undefined || resolved.catalogue.authorities.has(serviceCaAuthority ?? '')) return;
    const why =
      leftOutAuthority(resolved.catalogue, serviceCaAuthority ?? '') === undefined
        ? `there is no Authority ${serviceCaAuthority}`
        : `Authority ${serviceCaAuthority} is invalid`;
    const errors = new Map(services.all().map((one) => [leafIdOf(one), why]));
    void this.#serviceErrors.tell(services.all(), errors, now);
  }

  async authority(resolved: ResolvedResources, id: string, outcome: AuthorityOutcome): Promise<void> {
    const { on, operator, compat, home } = this.#options;
    const { plan } = outcome;
    // It has tried no write, and the next pass follows at once.
    if (plan.actions.some(({ kind }) => kind === 'record-issuance')) return;
    const { observation, others } = afterTrying(outcome, (object) =>
      home.store.obstacles.why(object, home.clock.now()),
    );
    this.#failures.delete(keyText({ kind: 'Authority', id }));
    const obstacles = [...obstaclesIn(observation), ...others];
    const before = this.#obstacles.get(id) ?? [];
    if (obstacles.join() !== before.join()) on({ kind: 'obstructed', authority: id, obstacles });
    this.#obstacles.set(id, obstacles);
    await this.#seen?.put(id, observation.seen.consumers, observation.now);
    const declared = find(resolved, 'Authority', id);
    if (declared === undefined || outcome.busy) return;
    this.#statuses?.put(declared, statusOfAuthority(declared, observation, plan));
    for (const [leaf, status] of statusOfLeaves(resolved, observation)) this.#statuses?.put(leaf, status);
    const services = compat?.services;
    if (services !== undefined && id === operator.injection?.serviceCaAuthority)
      await this.#serviceErrors.tell(services.all(), errorsOf(resolved, observation), home.clock.now());
    await this.bundles(resolved);
  }

  /** A pass failed. Some errors stand until the owner or an administrator has decided something. */
  failed(resolved: ResolvedResources, kind: 'Authority' | 'TLSProfile', id: string, error: unknown): void {
    if (!(error instanceof HandoverError) || isConflict(error)) return;
    const key = keyText({ kind, id });
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const declared = find(resolved, kind, id);
    if (declared === undefined) return;
    const now = this.#options.home.clock.now();
    if (UNDECIDED.test(error.code))
      this.#statuses?.put(declared, invalidStatus(declared, error.message, now));
    // The last status may no longer be true.
    else if (failures >= MOST_FAILURES)
      this.#statuses?.put(declared, failingStatus(declared, error.message, now));
  }

  async bundles(resolved: ResolvedResources): Promise<void> {
    for (const bundle of resolved.catalogue.trustBundles) {
      const declared = find(resolved, 'TrustBundle', bundle.metadata.name);
      if (declared === undefined) continue;
      const status = await statusOfBundle(this.#options.home, resolved, declared, bundle);
      this.#statuses?.put(declared, status);
      this.#events?.contended(declared, status);
    }
  }

  profile(profile: TlsProfile, outcome: ProfileOutcome): void {
    const { home } = this.#options;
    const id = idOf(profile);
    this.#failures.delete(keyText({ kind: 'TLSProfile', id }));
    const declared = home.declared('TLSProfile', id);
    if (declared === undefined) return;
    const status = statusOfProfile(declared, profile.spec.configMapName, outcome, home.clock.now());
    this.#statuses?.put(declared, status);
    this.#events?.contended(declared, status);
  }
}

const MOST_FAILURES = 3;
/** Codes of errors that stand until a person has done something. */
const UNDECIDED = /^(STATE|ADOPT)_/;

/** Why no authority will ever issue for a Leaf. */
const orphanhood = ({ catalogue }: ResolvedResources, { resource }: Declared): string | undefined => {
  if (resource?.kind !== 'Leaf') return undefined;
  const id = authorityRef(resource.spec.authority, resource.metadata.namespace);
  if (catalogue.authorities.has(id)) return undefined;
  // Why it is invalid is for readers of its own namespace.
  return leftOutAuthority(catalogue, id) === undefined
    ? `spec.authority: there is no Authority ${id}; create it, or name another`
    : `spec.authority: Authority ${id} is invalid; its status says why; correct it, or name another`;
};
